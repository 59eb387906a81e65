"""What a pod asks for: containers, sidecars, init containers, pod level, overhead, LimitRanges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.podrequests import fill_from_limit_ranges, pod_limits, pod_request
from kq.core.resources import ZERO
from kq.errors import DecodeError, QuantityError


def container(requests=None, limits=None, name="a", always=False):
    made = {"name": name, "resources": {"requests": requests, "limits": limits}}
    return {**made, "restartPolicy": "Always"} if always else made


def asks(spec, overhead=None):
    return pod_request(spec, overhead).to_wire()


def pod(*containers, init=(), **fields):
    return {"containers": list(containers), "initContainers": list(init), **fields}


APP = container({"cpu": "100m"})
SIDECAR = container({"cpu": "100m"}, name="s", always=True)
INIT = container({"cpu": "200m"}, name="i")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(pod(APP, init=[SIDECAR, INIT]), {"cpu": "300m"}, id="sidecar first"),
        pytest.param(pod(APP, init=[INIT, SIDECAR]), {"cpu": "200m"}, id="sidecar last"),
        pytest.param(pod(APP, init=[SIDECAR, SIDECAR]), {"cpu": "300m"}, id="two sidecars"),
        pytest.param(pod(APP, init=[INIT, INIT]), {"cpu": "200m"}, id="init containers in turn"),
        pytest.param(
            pod(container({"cpu": "1"}), container({"cpu": "2", "memory": "1Gi"})),
            {"cpu": "3", "memory": "1Gi"},
            id="containers at once",
        ),
        pytest.param(
            pod(APP, init=[container({"memory": "1Gi"})]),
            {"cpu": "100m", "memory": "1Gi"},
            id="the largest moment is by resource",
        ),
        pytest.param(
            pod(container({"cpu": "0.4m"}), container({"cpu": "0.4m"})),
            {"cpu": "1m"},
            id="rounded once for the pod",
        ),
    ],
)
def test_containers_sidecars_and_init_containers(spec, expected):
    """Spec 12.1, case B1."""
    assert asks(spec) == expected


def test_what_a_pod_asks_is_rounded_before_it_is_multiplied():
    """Spec 12.4."""
    one = pod_request(pod(container({"cpu": "0.4m", "x.y/z": "0.2"})))
    assert one.times(5).to_wire() == {"cpu": "5m", "x.y/z": "5"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            pod(container(limits={"cpu": "2"})), {"cpu": "2"}, id="a limit alone is requested"
        ),
        pytest.param(
            pod(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})),
            {"cpu": "1", "memory": "1Gi"},
            id="resource by resource",
        ),
        pytest.param(
            pod(container({"cpu": 0}, {"cpu": "2"})), {"cpu": "0"}, id="a request of 0 is a request"
        ),
        pytest.param(
            pod(APP, init=[container(limits={"cpu": "3"})]), {"cpu": "3"}, id="init containers too"
        ),
    ],
)
def test_a_limit_without_a_request_is_requested(spec, expected):
    """Spec 12.3."""
    assert asks(spec) == expected


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({"requests": {"cpu": "4"}}, {"cpu": "4", "memory": "1Gi"}, id="replaces"),
        pytest.param({"requests": {"cpu": "50m"}}, {"cpu": "50m", "memory": "1Gi"}, id="lowers"),
        pytest.param(
            {"requests": {"nvidia.com/gpu": 1}},
            {"cpu": "100m", "memory": "1Gi"},
            id="only cpu, memory and huge pages",
        ),
        pytest.param(
            {"limits": {"cpu": "4"}},
            {"cpu": "100m", "memory": "1Gi"},
            id="a limit leaves what containers request",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "4Mi"}},
            {"cpu": "100m", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
            id="a limit of what no container requests is requested",
        ),
        pytest.param(None, {"cpu": "100m", "memory": "1Gi"}, id="null"),
    ],
)
def test_pod_level_resources(resources, expected):
    spec = pod(container({"cpu": "100m", "memory": "1Gi"}), resources=resources)
    assert asks(spec) == expected


def test_a_limit_of_huge_pages_at_the_pod_level_is_what_is_requested():
    """They cannot be overcommitted: whatever containers request of them."""
    spec = pod(container({"hugepages-2Mi": "2Mi"}), resources={"limits": {"hugepages-2Mi": "4Mi"}})
    assert asks(spec) == {"hugepages-2Mi": "4Mi"}


def test_overhead_is_that_of_the_spec_else_of_the_runtime_class():
    assert asks(pod(APP, overhead={"cpu": "10m"}), {"cpu": "5"}) == {"cpu": "110m"}
    assert asks(pod(APP), {"cpu": "5"}) == {"cpu": "5100m"}
    assert asks(pod(APP, overhead=None), None) == {"cpu": "100m"}


def test_limits_are_summed_likewise():
    """Spec 12.2."""
    spec = pod(
        container(limits={"cpu": "1"}),
        container({"cpu": "1"}),
        init=[container(limits={"cpu": "3"}, always=True)],
        overhead={"cpu": "1", "memory": "1Gi"},
    )
    assert pod_limits(spec).to_wire() == {"cpu": "5"}


def test_a_pod_level_limit_replaces_the_sum():
    spec = pod(container(limits={"cpu": "1"}), resources={"limits": {"cpu": "4", "x.y/z": 1}})
    assert pod_limits(spec).to_wire() == {"cpu": "4"}


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"containers": None, "initContainers": None},
        {"containers": []},
        {"containers": [{"name": "a"}, {"resources": None}]},
        {"containers": [container()], "resources": {}, "overhead": {}},
    ],
    ids=repr,
)
def test_what_is_absent_or_null_asks_for_nothing(spec):
    assert pod_request(spec) == ZERO
    assert pod_limits(spec) == ZERO


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (
            pod(container({"cpu": "4 cores"}, name="main")),
            QuantityError,
            "cpu in requests of container main is 4 cores, not a quantity",
        ),
        (
            pod(APP, init=[container(limits={"memory": "-1"}, name="setup")]),
            DecodeError,
            "memory in limits of container setup is -1, not a quantity of 0 or more",
        ),
        (
            pod(resources={"requests": {"cpu": "x"}}),
            QuantityError,
            "cpu in requests of the pod is x, not a quantity",
        ),
        (
            pod(overhead={"cpu": "x"}),
            QuantityError,
            "cpu in overhead of the pod is x, not a quantity",
        ),
        ({"containers": "a"}, DecodeError, "containers is a str, not a list"),
        ({"containers": [APP, "a"]}, DecodeError, r"containers\[1\] is a str, not a map"),
        (
            {"containers": [{"name": "a", "resources": "4"}]},
            DecodeError,
            "resources of container a is a str, not a map",
        ),
    ],
)
def test_what_cannot_be_counted_is_named_and_never_nought(spec, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        pod_request(spec)


amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "x.y/z"]), st.integers(0, 100))
plain = st.builds(container, amounts, amounts)
sidecars = st.builds(container, amounts, amounts, always=st.just(True))
inits = st.lists(st.one_of(plain, sidecars), max_size=4)


@given(st.lists(plain, max_size=4).flatmap(lambda x: st.tuples(st.just(x), st.permutations(x))))
def test_the_order_of_containers_does_not_matter(orders):
    one, other = orders
    assert pod_request(pod(*one)) == pod_request(pod(*other))


@given(st.lists(plain, max_size=3), inits, sidecars, st.integers(0, 4))
def test_a_further_sidecar_never_lowers_a_request(apps, init, sidecar, place):
    before = pod_request(pod(*apps, init=init))
    after = pod_request(pod(*apps, init=[*init[:place], sidecar, *init[place:]]))
    assert all(after.get(name) >= amount for name, amount in before.items())


@given(st.lists(plain, max_size=3), inits)
def test_a_request_covers_every_container_alone(apps, init):
    total = pod_request(pod(*apps, init=init))
    for each in [*apps, *init]:
        assert all(total.get(name) >= amount for name, amount in pod_request(pod(each)).items())


@given(st.lists(plain, max_size=3), inits)
def test_a_sidecar_counts_as_a_container_if_nothing_else_initialises(apps, init):
    always = [{**each, "restartPolicy": "Always"} for each in init]
    assert pod_request(pod(*apps, init=always)) == pod_request(pod(*apps, *init))


def limit_range(*items, name="defaults"):
    return {"metadata": {"name": name}, "spec": {"limits": list(items)}}


TEAM_A = limit_range(
    {
        "type": "Container",
        "defaultRequest": {"cpu": "250m"},
        "default": {"cpu": "1", "memory": "512Mi"},
    }
)


@pytest.mark.parametrize(
    ("given_container", "requests", "limits"),
    [
        pytest.param(
            container(),
            {"cpu": "250m", "memory": "512Mi"},
            {"cpu": "1", "memory": "512Mi"},
            id="nothing set",
        ),
        pytest.param(
            container({"cpu": "2"}),
            {"cpu": "2", "memory": "512Mi"},
            {"cpu": "1", "memory": "512Mi"},
            id="own request",
        ),
        pytest.param(
            container(limits={"cpu": "4"}),
            {"cpu": "4", "memory": "512Mi"},
            {"cpu": "4", "memory": "512Mi"},
            id="own limit is requested before the default",
        ),
    ],
)
def test_limit_ranges_fill_what_a_container_leaves_out(given_container, requests, limits):
    """Spec 12.3a, case B2."""
    filled = fill_from_limit_ranges(pod(given_container), [TEAM_A])
    assert asks(filled) == requests
    assert pod_limits(filled).to_wire() == limits


def test_the_pod_level_is_completed_before_containers_are_filled():
    spec = pod(container(), resources={"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}})
    filled = fill_from_limit_ranges(spec, [TEAM_A])
    assert asks(filled) == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({"limits": {"memory": "4Gi"}}, {"cpu": "2", "memory": "1Gi"}, id="by a limit"),
        pytest.param(
            {"limits": {"memory": "4Gi"}, "requests": {"cpu": "3"}},
            {"cpu": "3", "memory": "1Gi"},
            id="beside a request",
        ),
        pytest.param(
            {"requests": {"cpu": "3"}}, {"cpu": "3", "memory": "1536Mi"}, id="not without a limit"
        ),
    ],
)
def test_what_containers_request_becomes_the_pod_levels_before_they_are_filled(resources, expected):
    """Spec 12.3a: a limit at the pod level has the API server sum up their own requests there."""
    apps = (container({"cpu": "2", "memory": "1Gi"}), container(name="b"))
    assert asks(fill_from_limit_ranges(pod(*apps, resources=resources), [TEAM_A])) == expected


def test_init_containers_are_filled_too():
    filled = fill_from_limit_ranges(pod(init=[{"name": "i"}]), [TEAM_A])
    assert asks(filled) == {"cpu": "250m", "memory": "512Mi"}


def test_a_limit_range_may_say_what_is_requested_alone():
    only = limit_range({"type": "Container", "defaultRequest": {"cpu": "2"}})
    filled = fill_from_limit_ranges(pod(container()), [only])
    assert (asks(filled), pod_limits(filled)) == ({"cpu": "2"}, ZERO)


def test_of_several_limit_ranges_the_largest_counts():
    other = limit_range({"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}})
    filled = fill_from_limit_ranges(pod(container()), [TEAM_A, other])
    assert asks(filled) == {"cpu": "500m", "memory": "1Gi"}
    assert pod_limits(filled).to_wire() == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    "limit_ranges",
    [
        [],
        [limit_range({"type": "Pod", "default": {"cpu": "1"}})],
        [limit_range({"type": "Container", "max": {"cpu": "1"}, "default": None})],
        [{"metadata": {"name": "empty"}, "spec": {"limits": None}}],
    ],
    ids=["none", "of pods", "no defaults", "empty"],
)
def test_without_defaults_the_spec_is_the_same(limit_ranges):
    spec = pod(container())
    assert fill_from_limit_ranges(spec, limit_ranges) is spec


def test_filling_leaves_the_given_spec_and_all_other_fields_alone():
    spec = pod({"name": "a", "image": "i", "resources": {"claims": [{"name": "c"}]}}, nodeName="n")
    filled = fill_from_limit_ranges(spec, [TEAM_A])
    assert spec["containers"][0]["resources"] == {"claims": [{"name": "c"}]}
    assert filled["nodeName"] == "n"
    assert filled["containers"][0]["image"] == "i"
    assert filled["containers"][0]["resources"]["claims"] == [{"name": "c"}]


@given(st.lists(plain, max_size=3), inits)
def test_filling_twice_is_filling_once(apps, init):
    once = fill_from_limit_ranges(pod(*apps, init=init), [TEAM_A])
    assert fill_from_limit_ranges(once, [TEAM_A]) == once
