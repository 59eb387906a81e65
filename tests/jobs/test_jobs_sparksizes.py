"""How large Spark makes the pods of an application (spec 12.5, cases B6, C4)."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.errors import DecodeError
from kq.jobs.sparksizes import MIB, Role, Setting, limits, requests, size_of


def role(name="driver", conf=None, type_="Scala", **spec):
    application = {"type": type_, name: spec}
    return Role(name, application, conf or {})


def asked(one):
    """cpu, and memory in MiB."""
    found = requests(one)
    return found["cpu"], int(found["memory"]) / MIB


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("512m", 512),
        ("1g", 1024),
        ("1gb", 1024),
        ("1GB", 1024),
        ("1024", 1024),
        (1024, 1024),
        ("2t", 2097152),
        ("524288k", 512),
        ("524288KB", 512),
        (" 1g ", 1024),
    ],
)
def test_sizes_are_sparks(text, mebibytes):
    assert size_of(Setting("spec.driver.memory", text), MIB) == mebibytes * MIB


@pytest.mark.parametrize(
    "text", ["1.5g", "1Gi", "", "g", "-1g", "+1g", "1 g", "1p", "1b", "9" * 16, True, 1.5, [], None]
)
def test_what_is_no_size_of_sparks_is_said_and_never_counts_as_nothing(text):
    with pytest.raises(DecodeError, match=r"^spec\.driver\.memory is .*, not a whole number"):
        size_of(Setting("spec.driver.memory", text), MIB)


@pytest.mark.parametrize(
    ("one", "mebibytes"),
    [
        (role(memory="512m"), 896),
        (role("executor", memory="800m"), 1184),
        (role(memory="4g"), 4505),
        (role(memory="4g", type_="Java"), 4505),
        (role(memory="4g", type_="Python"), 5734),
        (role(memory="4g", type_="R"), 5734),
        (role(memory="4g", memoryOverhead="1g"), 5120),
        (role(memory="4g", memoryOverhead="0"), 4096),
        (role(), 1408),
        (role("executor", {"spark.executor.memory": "2g"}), 2432),
        (role("executor", {"spark.driver.memory": "2g"}), 1408),
        (role(conf={"spark.driver.memoryOverhead": "1g"}, memory="4g"), 5120),
        (role(conf={"spark.kubernetes.memoryOverheadFactor": "0.2"}, memory="4g"), 4915),
        (role(conf={"spark.driver.memoryOverheadFactor": "0.5"}, memory="4g"), 6144),
        (role("executor", {"spark.executor.pyspark.memory": "1g"}, memory="1g"), 2432),
        (role("driver", {"spark.executor.pyspark.memory": "1g"}, memory="1g"), 1408),
        (
            role(
                "executor",
                {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1g"},
                memory="1g",
            ),
            2432,
        ),
        (
            role(
                "executor",
                {"spark.memory.offHeap.enabled": "TRUE", "spark.memory.offHeap.size": "1048576"},
                memory="1g",
            ),
            1409,
        ),
        (role("executor", {"spark.memory.offHeap.size": "1g"}, memory="1g"), 1408),
    ],
)
def test_memory_is_heap_and_what_spark_adds(one, mebibytes):
    assert asked(one)[1] == mebibytes


@pytest.mark.parametrize("factor", ["0.2", ".2", 0.2, "0.20"])
def test_the_factor_of_the_application_counts(factor):
    one = Role("driver", {"memoryOverheadFactor": factor, "driver": {"memory": "4g"}}, {})
    assert asked(one)[1] == 4915


def test_the_factor_that_is_said_nearest_to_the_pods_counts():
    """Spec 12.5: the field, then that of the role, then that of all pods."""
    conf = {"spark.kubernetes.memoryOverheadFactor": "0.3", "spark.executor.memory": "4g"}
    mine = {**conf, "spark.executor.memoryOverheadFactor": "0.5"}
    assert asked(Role("executor", {}, conf))[1] == 5324
    assert asked(Role("executor", {}, mine))[1] == 6144
    assert asked(Role("executor", {"memoryOverheadFactor": "0.2"}, mine))[1] == 4915
    assert asked(Role("executor", {"memoryOverheadFactor": ""}, mine))[1] == 6144


@pytest.mark.parametrize("factor", ["much", "-0.1", "1e9", "1001", ".", True, [1], {}])
def test_a_factor_that_is_no_number_is_said(factor):
    one = Role("driver", {"memoryOverheadFactor": factor, "driver": {"memory": "4g"}}, {})
    with pytest.raises(DecodeError, match=r"^spec\.memoryOverheadFactor is "):
        requests(one)


@pytest.mark.parametrize(
    ("one", "cpu"),
    [
        (role(), "1"),
        (role(cores=3), "3"),
        (role(cores="3"), "3"),
        (role(cores=3, coreRequest="500m"), "500m"),
        (role(cores=3, coreRequest=0.5), "500m"),
        (role(coreLimit="8"), "1"),
        (role(conf={"spark.driver.cores": "4"}), "4"),
        (role(conf={"spark.kubernetes.driver.request.cores": "1500m"}, cores=4), "1500m"),
        (role("executor", {"spark.driver.cores": "4"}), "1"),
    ],
)
def test_cpu_is_the_core_request_else_the_cores(one, cpu):
    assert requests(one)["cpu"] == cpu


@pytest.mark.parametrize(
    ("field", "value"),
    [("cores", 0), ("cores", "many"), ("cores", -1), ("coreRequest", "-1"), ("coreRequest", "x")],
)
def test_cores_that_are_none_are_said(field, value):
    with pytest.raises(DecodeError, match=rf"^spec\.driver\.{field} is "):
        requests(role(**{field: value}))


def test_limits_are_the_requests_but_cpu_has_one_only_if_it_is_set():
    plain, limited = role(memory="1g"), role(memory="1g", coreLimit="2")
    assert limits(plain, requests(plain)) == {"memory": str(1408 * MIB)}
    assert limits(limited, requests(limited)) == {"cpu": "2", "memory": str(1408 * MIB)}


@pytest.mark.parametrize(
    ("one", "devices"),
    [
        (role(gpu={"name": "nvidia.com/gpu", "quantity": 2}), {"nvidia.com/gpu": "2"}),
        (
            role(
                conf={
                    "spark.driver.resource.gpu.amount": "1",
                    "spark.driver.resource.gpu.vendor": "amd.com",
                    "spark.executor.resource.gpu.amount": "8",
                    "spark.executor.resource.gpu.vendor": "amd.com",
                }
            ),
            {"amd.com/gpu": "1"},
        ),
        (role(conf={"spark.driver.resource.gpu.amount": "1"}), {}),
    ],
    ids=["field", "conf", "conf-without-vendor"],
)
def test_devices_count(one, devices):
    found = requests(one)
    assert {name: found[name] for name in found if name not in ("cpu", "memory")} == devices


@given(st.integers(1, 10**6), st.sampled_from(["k", "m", "g"]), st.booleans())
def test_memory_is_never_less_than_the_heap_and_the_least_overhead(number, suffix, long):
    one = role("executor", memory=f"{number}{suffix}{'b' if long else ''}")
    before = copy.deepcopy(one.application)
    heap = size_of(Setting("", one.spec["memory"]), MIB)
    assert int(requests(one)["memory"]) >= heap + 384 * MIB
    assert one.application == before
