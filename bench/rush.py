"""Many jobs submitted at once by many clients, and followed to their ends."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.failure import BenchError
from bench.follow import Follower, is_complete, is_released
from bench.posts import Post, Target, connections
from bench.progress import attended
from bench.stage import Stage
from kq.core.kinds import JOB

CLIENTS = 32
CREATED = 201
LIMIT_SECONDS = 420.0

RELEASED, COMPLETE = "released", "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Seconds from the first create, each list in order."""

    submitted: float
    """The last create was answered."""
    released: Sequence[float]
    completed: Sequence[float]


async def rush(stage: Stage, jobs: Sequence[bytes], limit: float = LIMIT_SECONDS) -> Course:
    """Submits all jobs and follows them until the last is complete."""
    async with stage.client() as client:
        follower = Follower(client, JOB, {RELEASED: is_released, COMPLETE: is_complete})
        await follower.start()
        moments = follower.moments

        def state() -> str:
            released, complete = len(moments[RELEASED]), len(moments[COMPLETE])
            return f"{released} of {len(jobs)} jobs released, {complete} complete"

        started, ended = await attended(
            _submitted_and_complete(stage, follower, jobs),
            check=stage.check,
            state=state,
            seconds=limit,
        )
    return Course(
        submitted=ended - started,
        released=sorted(each - started for each in moments[RELEASED].values()),
        completed=sorted(each - started for each in moments[COMPLETE].values()),
    )


async def _submitted_and_complete(
    stage: Stage, follower: Follower, jobs: Sequence[bytes]
) -> tuple[float, float]:
    async with asyncio.TaskGroup() as group:
        following = group.create_task(follower.run(), name="follow jobs")
        times = await submit(stage.jobs_target(), jobs)
        await follower.reached(COMPLETE, len(jobs))
        following.cancel()
    return times


async def submit(target: Target, bodies: Sequence[bytes]) -> tuple[float, float]:
    """Posts all of them by 32 clients; when the first was sent and the last was answered."""
    clock = asyncio.get_running_loop().time
    requests = iter([target.request(body) for body in bodies])
    async with connections(target, CLIENTS) as posts:
        started = clock()
        async with asyncio.TaskGroup() as group:
            for number, post in enumerate(posts):
                group.create_task(_client(post, requests), name=f"client {number}")
        return started, clock()


async def _client(post: Post, requests: Iterator[bytes]) -> None:
    for request in requests:
        answer = await post.send(request)
        if answer.status != CREATED:
            raise BenchError(f"a job was answered with {answer.status}: {answer.body.decode()}")
