"""Books to explain units of."""

from builders import NOW, book, job_view

from kq.explain.explanation import explain


def settled(*quotas_, views, jobs=True, **options):
    """A book whose Queues have had their passes."""
    named = [job_view(each.name) for each in views if hasattr(each, "pod_sets")] if jobs else []
    made = book(*quotas_, views=[*named, *views], **options)
    for name in sorted(made.queues):
        made.cycle(name, NOW)
    return made


def texts(of, name):
    return [each.text for each in explain(of, f"team-a/{name}", NOW).unblock]
