"""What a process of kq counts of itself, out of the text of its /metrics."""

from collections.abc import Collection

from prometheus_client.parser import text_string_to_metric_families


def counters(text: str, names: Collection[str]) -> dict[str, float]:
    """The counters of those names that are not 0, each as `name{label="value"}`."""
    return {
        _spelled(sample.name, sample.labels): sample.value
        for family in text_string_to_metric_families(text)
        if family.name in names
        for sample in family.samples
        if sample.name.endswith("_total") and sample.value
    }


def _spelled(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inside}}}" if inside else name
