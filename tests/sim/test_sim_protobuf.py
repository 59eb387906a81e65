"""Objects that clients write in protobuf are read as if they had come in JSON."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.errors import DecodeError
from kq.sim.schemas.protobuf import MAGIC, read_object


def varint(value: int) -> bytes:
    value %= 2**64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def part(field: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def entry(field: int, key: str, value: bytes | str) -> bytes:
    return part(field, part(1, key) + part(2, value))


def body(version: str, kind: str, content: bytes) -> bytes:
    return MAGIC + part(1, part(1, version) + part(2, kind)) + part(2, content)


def read(version: str, kind: str, content: bytes) -> dict[str, Any]:
    made = read_object(body(version, kind, content))
    assert (made.pop("apiVersion"), made.pop("kind")) == (version, kind)
    return made


META = part(1, part(1, "c") + entry(11, "a", "b"))


def test_a_map_of_texts_and_one_of_bytes_are_read() -> None:
    assert read("v1", "ConfigMap", META + entry(2, "k", "v") + number(4, 1)) == {
        "metadata": {"name": "c", "labels": {"a": "b"}},
        "data": {"k": "v"},
        "immutable": True,
    }
    assert read("v1", "Secret", entry(2, "k", b"\x00\xff"))["data"] == {"k": "AP8="}


def test_a_job_is_read_down_to_the_amounts_of_its_containers() -> None:
    amounts = entry(2, "cpu", part(1, "500m"))
    container = part(1, "m") + part(2, "busybox") + part(3, "sleep") + part(3, "5")
    pod = part(2, container + part(8, amounts)) + part(3, "Never")
    spec = number(1, 2) + number(7, -1) + part(6, part(2, pod)) + number(10, 0)
    made = read("batch/v1", "Job", part(2, spec))
    assert made["spec"] == {
        "parallelism": 2,
        "backoffLimit": -1,
        "suspend": False,
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "m",
                        "image": "busybox",
                        "command": ["sleep", "5"],
                        "resources": {"requests": {"cpu": "500m"}},
                    }
                ],
                "restartPolicy": "Never",
            }
        },
    }


def test_fields_that_stand_in_the_object_itself_are_found() -> None:
    volume = part(1, "v") + part(2, part(1, part(1, "/x")))
    pod = part(2, part(1, volume))
    assert read("v1", "Pod", pod)["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]


def test_times_and_ports_have_forms_of_their_own() -> None:
    meta = part(1, part(8, number(1, 1_767_225_600)))
    assert read("v1", "ConfigMap", meta)["metadata"] == {
        "creationTimestamp": "2026-01-01T00:00:00Z"
    }
    zeros = part(2, "") + number(7, 0) + part(8, b"")
    assert read("v1", "ConfigMap", part(1, zeros))["metadata"] == {}
    renewed = part(4, number(1, 1_767_225_600) + number(2, 5_000))
    lease = read("coordination.k8s.io/v1", "Lease", part(2, renewed))
    assert lease["spec"] == {"renewTime": "2026-01-01T00:00:00.000005Z"}
    ports = part(1, number(3, 80) + part(4, number(2, 8080)))
    ports += part(1, part(4, number(1, 1) + part(3, "http")))
    service = read("v1", "Service", part(2, ports))
    assert service["spec"]["ports"] == [{"port": 80, "targetPort": 8080}, {"targetPort": "http"}]


def test_fields_that_nobody_knows_are_passed_over() -> None:
    strange = number(99, 7) + part(98, "x") + varint(97 << 3 | 1) + struct.pack("<d", 1.5)
    assert read("v1", "ConfigMap", strange + META)["metadata"]["name"] == "c"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"kind":"ConfigMap"}', id="JSON"),
        pytest.param(body("v1", "Nothing", b""), id="an unknown kind"),
        pytest.param(body("v1", "ConfigMap", META)[:-3], id="cut off"),
        pytest.param(body("v1", "ConfigMap", number(1, 5)), id="a number for a map"),
        pytest.param(body("v1", "ConfigMap", part(1, part(1, b"\xff"))), id="no UTF-8"),
        pytest.param(body("v1", "ConfigMap", b"\xff" * 11), id="an endless number"),
        pytest.param(body("v1", "ConfigMap", varint(1 << 3 | 3)), id="an old group"),
        pytest.param(body("batch/v1", "Job", part(2, part(1, "x"))), id="a text for a number"),
        pytest.param(
            body("apiextensions.k8s.io/v1", "CustomResourceDefinition", META), id="not in the table"
        ),
    ],
)
def test_what_cannot_be_read_is_refused(content: bytes) -> None:
    with pytest.raises(DecodeError):
        read_object(content)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        made = read_object(body("v1", "Pod", content))
    except DecodeError:
        return
    assert made["kind"] == "Pod"
