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
    rate, times = len(seconds) / SECONDS, p50_p99(seconds)
    webhook = cpu[stage.webhook.name]
    size = len(objects.reviews(1)[0])
    figures = {"reviews_per_second": round(rate, 1), "review_ms": times}
    rows = [
        Row("reviews a second", f"{rate:.0f}", f"{CONNECTIONS} connections, {size} bytes each"),
        Row("review p50", f"{times['p50']:.2f} ms", "at that rate"),
        Row("review p99", f"{times['p99']:.2f} ms", "at that rate"),
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


async def _one(post: Post, requests: Iterator[bytes], until: float, taken: list[float]) -> None:
    clock = asyncio.get_running_loop().time
    while (started := clock()) < until:
        answer = await post.send(next(requests))
        taken.append(clock() - started)
        if answer.status != OK or PATCHED not in answer.body:
            raise BenchError(f"a review was answered with {answer.status}: {answer.body!r}")
