"""A Queue whose units may be in back-off, as seconds pass (spec 10.19)."""

from datetime import timedelta

from builders import NOW, book, job_view, queue, quota, running_job

from kq.core.options import RetryOptions

BACKOFF = RetryOptions(backs_off=True)
STRICT = RetryOptions(backs_off=True, strict=True)


def seconds(number):
    return NOW + timedelta(seconds=number)


class Scene:
    """One quota of 4 cpu and its Queue; time is in seconds."""

    def __init__(self, *units, retry=BACKOFF, cpu=4, policy="Priority", annotations=None, **more):
        line = queue(policy=policy, annotations=annotations or {})
        self.book = book(quota(cpu=cpu), views=[line], retry=retry, **more)
        self.add(*units)

    def add(self, *units):
        for each in units:
            self.book.saw(running_job(each.name) if each.holds_quota else job_view(each.name))
            self.book.saw(each)

    def ends(self, name):
        self.book.lost(self.book.units[f"team-a/{name}"])

    def set_quota(self, *quotas):
        plugin = book(*quotas).quotas
        self.book.set_quotas(plugin, structure_changed=False)

    def cycle(self, second):
        """Who starts, where anything has woken the Queue, or its own time has come."""
        due = self.book.next_look("team-a")
        woken = "team-a" in self.book.take_woken()
        if not woken and (due is None or due > seconds(second)):
            return []
        return [each.name for each in self.book.cycle("team-a", seconds(second))]

    def told(self, name):
        verdict = self.book.verdict(f"team-a/{name}")
        return verdict.message if verdict else None

    def next_end(self):
        due = self.book.next_look("team-a")
        return (due - NOW).total_seconds() if due else None
