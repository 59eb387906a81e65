"""What is asked of a book in tests, and the two units of most of them."""

from builders import book, job_view, queue, quota, unit


def cpu_used(of, level="team-a"):
    return of.usage.of(level).get("cpu", 0)


def is_candidate(of, key: str) -> bool:
    return of.places.place(key) is not None


def message(of, key: str) -> str | None:
    verdict = of.verdict(key)
    return verdict.message if verdict else None


def waiting_book(*views, cpu=4, **options):
    """One quota and its Queue."""
    return book(quota(cpu=cpu), views=(queue(), *views), **options)


JOB = job_view("a")
A = unit("a", cpu=4)
B = unit("b", cpu=4, minute=1)
