"""AdmissionReviews posted to the webhook as an API server does, as fast as it answers."""

import asyncio
import base64
import ssl
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from bench import meter, objects
from bench.failure import BenchError
from bench.meter import LOAD
from bench.outcome import Outcome, Row
from bench.posts import Post, Target, connections
from bench.progress import attended, tell
from bench.stage import Sizes, Stage
from bench.stats import p50_p99

CONNECTIONS = 16
BODIES = 512
WARM_UP_SECONDS = 2.0
SECONDS = 10.0
PACE = 1000
"""Reviews a second that come whether or not the last ones are answered."""
PACED_SECONDS = 10.0
PACED_CONNECTIONS = 64
OK = 200
PATCHED = b'"patch":'
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/koord-queue"


async def run(stage: Stage, sizes: Sizes) -> Outcome:
    """Ten seconds on 16 kept connections, each of which waits for its answer."""
    stage.make_quota(1)
    target = webhook_target(stage.cluster.api("GET", CONFIGURATION))
    requests = cycle([target.request(body) for body in objects.reviews(BODIES)])
    async with connections(target, CONNECTIONS) as posts:
        tell(f"  warming up for {WARM_UP_SECONDS:.0f} s")
        await _posted(stage, posts, requests, WARM_UP_SECONDS)
        before = meter.cpu_seconds(stage.processes)
        seconds = await _posted(stage, posts, requests, SECONDS)
        cpu = meter.spent(before, meter.cpu_seconds(stage.processes))
    async with connections(target, PACED_CONNECTIONS) as posts:
        paced = p50_p99(await _paced(stage, posts, requests))
    rate, times = len(seconds) / SECONDS, p50_p99(seconds)
    webhook = cpu[stage.webhook.name]
    size = len(objects.reviews(1)[0])
    figures = {
        "reviews_per_second": round(rate, 1),
        "review_ms": times,
        "review_ms_at_1000_per_second": paced,
    }
    rows = [
        Row("reviews a second", f"{rate:.0f}", f"{CONNECTIONS} connections, {size} bytes each"),
        Row("review p50", f"{times['p50']:.2f} ms", "at that rate"),
        Row("review p99", f"{times['p99']:.2f} ms", "at that rate"),
        Row("paced p50", f"{paced['p50']:.2f} ms", f"{PACE} a second, from the time each is due"),
        Row("paced p99", f"{paced['p99']:.2f} ms", "at most 5"),
        Row("CPU of a review", f"{webhook / len(seconds) * 1000:.3f} ms", "TLS and HTTP included"),
        Row("webhook", f"{webhook / SECONDS:.2f} cores", ""),
        Row(LOAD, f"{cpu[LOAD] / SECONDS:.2f} cores", "ours"),
    ]
    return Outcome(load="reviews", figures=figures, rows=rows)


def webhook_target(configuration: dict[str, Any]) -> Target:
    """The webhook as the API server finds it and trusts it."""
    config = configuration["webhooks"][0]["clientConfig"]
    service = config["service"]
    ca = base64.b64decode(config["caBundle"]).decode()
    return Target(
        url=f"https://127.0.0.1:{service['port']}{service['path']}?timeout=3s",
        tls=ssl.create_default_context(cadata=ca),
        server_name=f"{service['name']}.{service['namespace']}.svc",
    )


async def _posted(
    stage: Stage, posts: list[Post], requests: Iterator[bytes], seconds: float
) -> list[float]:
    """How long each review took."""
    taken: list[float] = []

    async def work() -> None:
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            for number, post in enumerate(posts):
                group.create_task(_one(post, requests, until, taken), name=f"reviews {number}")

    await attended(
        work(),
        check=stage.check,
        state=lambda: f"{len(taken)} reviews answered",
        seconds=seconds + 10,
    )
    return taken


async def _paced(stage: Stage, posts: list[Post], requests: Iterator[bytes]) -> list[float]:
    """How long each review took from the time at which it was due, waits for a connection too."""
    taken: list[float] = []
    free: asyncio.Queue[Post] = asyncio.Queue()
    for post in posts:
        free.put_nowait(post)
    clock = asyncio.get_running_loop().time

    async def one(due: float) -> None:
        post = await free.get()
        await _reviewed(post, next(requests))
        taken.append(clock() - due)
        free.put_nowait(post)

    async def work() -> None:
        begin = clock()
        async with asyncio.TaskGroup() as group:
            for number in range(int(PACE * PACED_SECONDS)):
                due = begin + number / PACE
                if (ahead := due - clock()) > 0:
                    await asyncio.sleep(ahead)
                group.create_task(one(due))

    await attended(
        work(),
        check=stage.check,
        state=lambda: f"{len(taken)} reviews answered at {PACE} a second",
        seconds=PACED_SECONDS + 20,
    )
    return taken


async def _one(post: Post, requests: Iterator[bytes], until: float, taken: list[float]) -> None:
    clock = asyncio.get_running_loop().time
    while (started := clock()) < until:
        await _reviewed(post, next(requests))
        taken.append(clock() - started)


async def _reviewed(post: Post, request: bytes) -> None:
    answer = await post.send(request)
    if answer.status != OK or PATCHED not in answer.body:
        raise BenchError(f"a review was answered with {answer.status}: {answer.body!r}")
