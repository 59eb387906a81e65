"""ElasticQuotas read into views; a limit that cannot be read never counts as no limit."""

from collections.abc import Mapping

import msgspec

from kq.core import codec, keys
from kq.core.codec import mapping
from kq.core.model import Quota
from kq.core.resources import Resources, format_amount, parse_resources
from kq.core.views import decode_object
from kq.errors import DecodeError

MAX_ANNOTATION = 16 * 1024


def quota(raw: bytes) -> Quota:
    """An ElasticQuota; a limit that cannot be read counts as 0, a min that cannot as none."""
    body = decode_object(raw)
    meta, spec = mapping(body, "metadata"), mapping(body, "spec")
    labels = codec.strings(meta.get("labels"))
    limit, bad_limits = _limits(spec.get("max"), "max", unreadable=0)
    minimum, bad_minimums = _limits(spec.get("min"), "min", unreadable=None)
    below = {
        name: f"max of {name} is {format_amount(name, amount)}, below its min "
        f"{format_amount(name, minimum.get(name))}: it counts as 0; raise max or lower min"
        for name, amount in limit.items()
        if 0 < amount < minimum.get(name)
    }
    if below:
        limit = Resources.of({k: 0 if k in below else v for k, v in limit.items()})
    mapped, bad_mapping = mapped_namespaces(codec.strings(meta.get("annotations")))
    return Quota(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        labels=labels,
        annotations=codec.strings(meta.get("annotations")),
        parent=labels.get(keys.PARENT_LABEL, ""),
        is_parent=labels.get(keys.IS_PARENT_LABEL, "").lower() == "true",
        limit=limit,
        minimum=minimum,
        namespaces=mapped,
        defects=(
            *bad_limits,
            *bad_minimums,
            *below.values(),
            *bad_mapping,
        ),
    )


def mapped_namespaces(annotations: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The namespaces that the annotation lists; what is wrong with it (spec 5.3, 21.2)."""
    text = annotations.get(keys.QUOTA_NAMESPACES)
    if not text:
        return (), ()
    try:
        listed = msgspec.json.decode(text, type=list[str]) if len(text) <= MAX_ANNOTATION else None
    except (msgspec.DecodeError, RecursionError):
        listed = None
    if listed is None:
        return (), (f"{keys.QUOTA_NAMESPACES} is {text:.100}, not a JSON list of namespaces",)
    return tuple(listed), ()


def _limits(value: object, where: str, unreadable: int | None) -> tuple[Resources, tuple[str, ...]]:
    """Amounts one by one, so that a bad one spoils no other."""
    amounts: dict[str, int] = {}
    defects = []
    for name, text in value.items() if isinstance(value, Mapping) else ():
        try:
            amounts.update(parse_resources({name: text}, where).items())
        except DecodeError as err:
            defects.append(str(err))
            if unreadable is not None:
                amounts[str(name)] = unreadable
    return Resources.of(amounts), tuple(defects)
