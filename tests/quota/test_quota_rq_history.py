"""ResourceQuotas under load: raised, lowered, deleted, made again (spec 11.14, 24.1)."""

from collections.abc import Mapping

from builders import at, changed, job_view, queue, running_job, unit
from hypothesis import given, settings
from hypothesis import strategies as st
from resource_quotas import container, picture, pods, rq

from kq.core.model import Phase
from kq.core.resources import plain
from kq.decide.book import Book
from kq.policies import POLICIES

NAMES = ("one", "two")
hards = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 8),
        "requests.cpu": st.integers(0, 8),
        "pods": st.integers(0, 6),
        "requests.nvidia.com/gpu": st.integers(0, 3),
    },
)
there = st.dictionaries(st.sampled_from(NAMES), hards, max_size=2)
jobs = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1))
steps = st.lists(
    st.tuples(st.none() | there, st.lists(jobs, max_size=3), st.booleans()), min_size=2, max_size=7
)
Hard = Mapping[str, Mapping[str, int]]


def asked(job: tuple[int, int, int]) -> dict[str, int]:
    """By key of a quota, what all pods of a job ask."""
    count, cpu, gpu = job
    return {
        "cpu": count * cpu,
        "requests.cpu": count * cpu,
        "pods": count,
        "requests.nvidia.com/gpu": count * gpu,
    }


class History:
    """A namespace, and what runs in it."""

    def __init__(self, hard: Hard) -> None:
        self.hard = hard
        self.asked: dict[str, dict[str, int]] = {}
        self.running: list[str] = []
        self.over: list[str] = []
        made = picture(*(rq(name, hard=each) for name, each in hard.items()))
        self.book = Book(policies=POLICIES, default_policy="Priority", quotas=made, kinds=("Job",))
        self.book.saw(queue())

    def edit(self, hard: Hard) -> None:
        self.hard = hard
        made = picture(*(rq(name, hard=each) for name, each in hard.items()))
        self.book.set_quotas(made, structure_changed=True)

    def submit(self, job: tuple[int, int, int]) -> None:
        count, cpu, gpu = job
        requests = {"cpu": cpu, "nvidia.com/gpu": gpu} if gpu else {"cpu": cpu}
        role = pods(container(requests=requests), count=count)
        name = f"u{len(self.asked)}"
        self.asked[name] = asked(job)
        self.book.saw(job_view(name, pod_sets=(role,)))
        self.book.saw(unit(name, quota=None, pod_sets=(role,), minute=len(self.asked)))

    def end(self) -> None:
        """The first that runs ends."""
        if self.running:
            name = self.running.pop(0)
            self.over.append(name)
            over = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
            self.book.ledger.revoke(f"team-a/{name}")
            self.book.saw(changed(self.book.units[f"team-a/{name}"], **over))
            self.book.saw(running_job(name, pods_active=0))

    def used(self) -> dict[str, int]:
        return {
            key: sum(self.asked[name][key] for name in self.running)
            for key in ("cpu", "requests.cpu", "pods", "requests.nvidia.com/gpu")
        }

    def fits(self, name: str) -> bool:
        used = self.used()
        return bool(self.hard) and all(
            not self.asked[name][key] or used[key] + self.asked[name][key] <= most
            for hard in self.hard.values()
            for key, most in hard.items()
        )

    def pass_over(self) -> None:
        """Only where somebody was woken; nothing that fits may be left."""
        before = self.used()
        for queue_name in self.book.take_woken():
            started = self.book.cycle(queue_name, at(1))
            assert self.hard or not started
            self.running += [each.name for each in started]
        for hard in self.hard.values():
            for key, most in hard.items():
                assert self.used()[key] <= max(most, before[key])
        left = self.asked.keys() - set(self.running) - set(self.over)
        assert not [name for name in left if self.fits(name)]

    def check_usage(self) -> None:
        """Each quota knows what is in use of its keys, however young it is."""
        for level in self.book.quotas.chain("team-a") if self.hard else ():
            known = self.book.usage.of(level.name)
            for key in level.limit:
                scale = 1000 if "cpu" in key else 1
                assert known.get(key, 0) == self.used()[plain(key)] * scale


@settings(max_examples=60)
@given(there, steps)
def test_whatever_becomes_of_the_quotas_nothing_is_granted_above_one(first, drawn) -> None:
    """Case E4 in this mode, and spec 11.8: deleted and made again they see what runs."""
    history = History(first)
    for hard, listed, ends in drawn:
        for job in listed:
            history.submit(job)
        if hard is not None:
            history.edit(hard)
        if ends:
            history.end()
        history.pass_over()
        history.check_usage()
