"""What happens, in order, and what must be seen on the way."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from demo import examples, picture
from demo.failure import DemoError
from demo.picture import Entry, Picture
from demo.show import Show
from demo.stage import Stage

POLL_SECONDS = 0.1
FIRST, SECOND = "my-job", "my-job-blocked"
INJECTED = "koord-queue/injected"
"""The annotation by which the webhook says what it added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One way to submit the two jobs, and one way to ask why the second waits."""

    title: str
    manifest: str
    why_it_waits: Sequence[str]


ABOUT_SECOND = f"involvedObject.kind=QueueUnit,involvedObject.name={SECOND}"
ROUNDS = (
    Round(
        title="Round 1: two jobs, submitted with suspend: true",
        manifest="jobs.yaml",
        why_it_waits=("get", "events", "--field-selector", ABOUT_SECOND),
    ),
    Round(
        title="Round 2: the same without it, so the webhook holds them",
        manifest="jobs-without-suspend.yaml",
        why_it_waits=("get", "queueunit", SECOND, "-o", "jsonpath={.status.message}"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of one round, from the submit."""

    second_starts: float
    all_complete: float


def tell(stage: Stage, show: Show) -> list[Times]:
    """The whole story; the times of its rounds."""
    show.chapter("A quota with room for one of the two jobs")
    kubectl(stage, show, "apply", "-f", str(examples.QUOTA))
    return [play(each, stage, show) for each in ROUNDS]


def play(act: Round, stage: Stage, show: Show) -> Times:
    """One round: two jobs are submitted, take turns, and are deleted."""
    show.chapter(act.title)
    example = examples.shortened(act.manifest, stage.folder)
    show.line(f"({example.remark}: KWOK only plays them)", style="dim")
    submitted = time.monotonic()
    kubectl(stage, show, "apply", "-f", str(example.path))
    check_held(stage)
    with show.live():
        follow(stage, show, f"{FIRST} runs and {SECOND} waits for quota", one_waits)
        kubectl(stage, show, "get", "queueunit")
        kubectl(stage, show, *act.why_it_waits)
        follow(stage, show, f"{SECOND} starts", second_starts)
        started = time.monotonic()
        follow(stage, show, "both jobs are complete", lambda seen: seen.all_complete)
        complete = time.monotonic()
    kubectl(stage, show, "get", "jobs")
    kubectl(stage, show, "delete", "-f", str(example.path))
    return Times(second_starts=started - submitted, all_complete=complete - submitted)


def one_waits(seen: Picture) -> bool:
    """The first runs, and the second says what it waits for."""
    first, second = both(seen)
    if first.complete or second.holds_quota:
        raise DemoError(f"{second.name} never waited for {first.name}")
    return first.phase == "Running" and second.waits_for_quota


def second_starts(seen: Picture) -> bool:
    """The second holds quota, which it may only once the first has ended."""
    first, second = both(seen)
    if second.holds_quota and first.holds_quota:
        raise DemoError(f"{first.name} and {second.name} hold quota at once")
    return second.holds_quota or second.complete


def both(seen: Picture) -> tuple[Entry, Entry]:
    """The entries of the two jobs."""
    named = {entry.name: entry for entry in seen.entries}
    return named[FIRST], named[SECOND]


def check_held(stage: Stage) -> None:
    """Whoever submits a job must not win a race: the webhook has held it before it existed."""
    for job in stage.cluster.api("GET", picture.JOBS)["items"]:
        if INJECTED not in job["metadata"].get("annotations", {}):
            log = stage.kq.webhook.log if stage.kq.webhook else ""
            name = job["metadata"]["name"]
            raise DemoError(f"the webhook did not hold {name} at its submit; its log is {log}")


def follow(stage: Stage, show: Show, what: str, reached: Callable[[Picture], bool]) -> None:
    """Shows the queue until something is so."""
    show.waiting_for = what
    while True:
        stage.check()
        seen = picture.take(stage.cluster)
        show.picture(seen)
        if reached(seen):
            return
        time.sleep(POLL_SECONDS)


def kubectl(stage: Stage, show: Show, *arguments: str) -> None:
    """Runs kubectl in view, with all that it prints."""
    # A person types it in the folder of the repository.
    show.command(f"kubectl {' '.join(arguments)}".replace(f"{examples.ROOT}/", ""))
    done = stage.cluster.kubectl(*arguments)
    for text in (done.stderr + done.stdout).splitlines():
        show.line(f"  {text}")
