"""Bodies of patches, read as the real server reads them."""

from typing import Any

import msgspec
import yaml

from kq.sim.api.status import bad_request
from kq.sim.schemas.golang import go_name

NO_MAP = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a time is a text like any other."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and form are the library's
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read_json(body: bytes, prefix: str = "") -> Any:
    """The JSON value in a body; ApiStatus 400 if there is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as err:
        raise bad_request(f"{prefix}{syntax_fault(body)}") from err


def read_map(body: bytes, prefix: str = "") -> dict[str, Any] | None:
    """The JSON object in a body, or its null; ApiStatus 400 if it is something else."""
    value = read_json(body, prefix)
    if value is None or isinstance(value, dict):
        return value
    raise bad_request(prefix + NO_MAP.format(go_name(value)))


def read_yaml(body: bytes) -> dict[str, Any]:
    """The object in a body of YAML or JSON."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        said = _loaded(body)
    if said is None:
        return {}
    if not isinstance(said, dict):
        text = NO_MAP.format(go_name(said))
        raise bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {text}"
        )
    return said


def syntax_fault(body: bytes) -> str:
    """What Go's decoder says about a text that is no JSON."""
    text = body.decode("utf-8", "replace").strip()
    after = text[1:].lstrip()[:1]
    if text[:1] == "{" and after not in ("", '"', "}"):
        return f"invalid character '{after}' looking for beginning of object key string"
    if text[:1] not in ("", "{", "[", '"', "-", "t", "f", "n") and not text[:1].isdigit():
        return f"invalid character '{text[0]}' looking for beginning of value"
    return "unexpected end of JSON input"


def _loaded(body: bytes) -> Any:
    try:
        return yaml.load(body, _Loader)  # noqa: S506 - a safe loader with fewer resolvers
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise bad_request(
            f"error decoding YAML: error converting YAML to JSON: yaml: line {line}:"
            " did not find expected node content"
        ) from err
