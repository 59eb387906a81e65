"""ResourceQuotas: which count which pods, and what they demand (spec 11.14-11.18)."""

import msgspec
import pytest
from builders import amounts, namespace
from hypothesis import given
from hypothesis import strategies as st
from resource_quotas import about, container, counted, picture, pod_template, pods, rq

from kq.core import keys
from kq.core.demand import Sort, demand
from kq.core.messages import Reason
from kq.core.plugins import Problem
from kq.core.quotaviews import Scope
from kq.core.resources import Resources, plain
from kq.decide.charge import ONE_JOB
from kq.quota.scopedcharges import asked_by
from kq.quota.scopes import matches

CPU = {"cpu": "4"}
LABEL = keys.QUOTA_LABEL


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hard", "enforced", "expected"),
    [
        pytest.param({"cpu": 4}, None, {"cpu": "4"}, id="not enforced yet"),
        pytest.param({"cpu": 4}, {"cpu": 2}, {"cpu": "2"}, id="raised, not enforced yet"),
        pytest.param({"cpu": 2}, {"cpu": 4}, {"cpu": "2"}, id="lowered, not enforced yet"),
        pytest.param({"cpu": 4}, {"pods": 1}, {"cpu": "4", "pods": "1"}, id="another key"),
        pytest.param({}, {"cpu": 2}, {"cpu": "2"}, id="taken away, but still enforced"),
        pytest.param({"cpu": 4}, {"cpu": "x"}, {"cpu": "0"}, id="enforced, but unreadable"),
        pytest.param({"cpu": 4}, {}, {"cpu": "4"}, id="nothing enforced yet"),
        pytest.param({"cpu": "1e3", "pods": "1E1"}, None, {"cpu": "1k", "pods": "10"}, id="powers"),
        pytest.param({"nvidia.com/gpu": "1500m"}, None, {"nvidia.com/gpu": "1"}, id="no more"),
        pytest.param({}, None, {}, id="empty: it limits nothing (22.1)"),
        pytest.param({"cpu": "x"}, None, {"cpu": "0"}, id="unreadable: never unlimited"),
        pytest.param(
            {"requests.cpu": "1500m", "limits.memory": "2048Mi"},
            None,
            {"requests.cpu": "1500m", "limits.memory": "2Gi"},
            id="each in its own unit",
        ),
    ],
)
def test_11_14_the_smaller_of_what_is_said_and_what_is_enforced_counts(hard, enforced, expected):
    (level,) = picture(rq(hard=hard, status=enforced)).chain("team-a")
    assert {plain(key): text for key, text in level.limit.to_wire().items()} == expected


def test_11_14_every_quota_of_the_namespace_is_a_limit_of_its_own():
    of = picture(rq("b", hard=CPU), rq("a", hard={"pods": 2}), rq(namespace="else", hard=CPU))
    chain = of.chain("team-a")
    assert [(level.name, level.beside) for level in chain] == [
        ("team-a/a", True),
        ("team-a/b", True),
    ]
    assert of.ancestry("team-a") == ("team-a/a", "team-a/b")


def test_11_2_resource_quotas_are_not_oversold():
    (level,) = picture(rq(hard=CPU), oversell=2).chain("team-a")
    assert level.limit.to_wire() == {"cpu@rq": "4"}


def test_11_18_a_namespace_without_a_quota_waits_for_one():
    text = "namespace team-a has no ResourceQuota"
    for of in (picture(), picture(rq(namespace="else", hard=CPU))):
        assert of.chain("team-a") == Problem(Reason.NOT_FOUND, text)
        assert of.ancestry("team-a") == ("team-a",)


def test_11_18_or_is_not_limited_if_so_set():
    of = picture(missing_admits=True)
    assert of.chain("team-a") == ()
    assert of.auto_made("team-a").quota == "team-a"


# -- attribution -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "of", "options", "expected"),
    [
        pytest.param({}, namespace(), {}, "team-a", id="it has a quota"),
        pytest.param({}, namespace("bare"), {}, None, id="it has none"),
        pytest.param({LABEL: "other"}, namespace("bare"), {}, "bare", id="a label, whatever"),
        pytest.param({LABEL: "other"}, namespace(), {}, "team-a", id="never another's"),
        pytest.param(
            {}, namespace("bare", labels={LABEL: "x"}), {}, "bare", id="the namespace's label"
        ),
        pytest.param({}, namespace("bare"), {"default_quota": "x"}, "bare", id="the default"),
    ],
)
def test_5_5_the_quota_is_the_namespace(labels, of, options, expected):
    assert picture(rq(hard=CPU), **options).quota_of(labels, of) == expected


def test_5_5_nobody_draws_on_the_quota_of_another_namespace():
    of = picture(rq(hard=CPU), rq(namespace="team-b", hard=CPU))
    assert of.barred(namespace(), "team-a") is None
    text = "namespace team-a may not use quota team-b"
    assert of.barred(namespace(), "team-b") == Problem(Reason.MISCONFIGURED, text)


def test_3_3_a_namespace_with_quotas_gets_a_queue_once_a_unit_is_to_wait():
    made = picture(rq(hard=CPU)).auto_made("team-a")
    assert (made.quota, made.on_demand, made.follows) == ("team-a", True, None)
    assert picture().auto_made("team-a") is None


# -- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("cpu", "cpu"),
        ("requests.cpu", "cpu"),
        ("memory", "memory"),
        ("requests.memory", "memory"),
        ("ephemeral-storage", "ephemeral-storage"),
        ("requests.ephemeral-storage", "ephemeral-storage"),
        ("hugepages-2Mi", "hugepages-2Mi"),
        ("requests.hugepages-2Mi", "hugepages-2Mi"),
        ("requests.nvidia.com/gpu", "nvidia.com/gpu"),
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        ("limits.cpu", "limits.cpu"),
        ("limits.memory", "limits.memory"),
        ("limits.ephemeral-storage", "limits.ephemeral-storage"),
        ("limits.nvidia.com/gpu", None),
        ("limits.hugepages-2Mi", None),
        ("limits.storage", None),
        ("services", "services"),
        ("count/services", None),
        ("count/podtemplates", None),
        ("pods", "pods"),
        ("count/pods", "count/pods"),
        ("count/jobs.batch", None),
    ],
)
def test_11_14_what_a_key_counts(key, expected):
    assert asked_by(key) == expected


def test_11_14_both_spellings_are_counted_each_for_itself():
    hard = {"cpu": 4, "requests.cpu": 3, "limits.cpu": 8, "pods": 9, "services": 1}
    one = container(requests={"cpu": 1}, limits={"cpu": 2})
    assert counted(picture(rq(hard=hard)), pod_template(one)) == {
        "rq": {"cpu": "1", "requests.cpu": "1", "limits.cpu": "2", "pods": "1"}
    }


def test_12_2_limits_are_summed_as_requests_are():
    hard = {"limits.memory": "8Gi"}
    init = container("init", limits={"memory": "5Gi"})
    two = [container(name, limits={"memory": "2Gi"}) for name in ("a", "b")]
    template = pod_template(*two, initContainers=[init])
    assert counted(picture(rq(hard=hard)), template) == {"rq": {"limits.memory": "5Gi"}}


def test_11_11_max_jobs_counts_units_in_a_resource_quota_too():
    of = picture(rq(hard={"koord-queue/max-jobs": 2}))
    assert of.of_pods("team-a", ONE_JOB).to_wire() == {"koord-queue/max-jobs@rq": "1"}


# -- scopes ------------------------------------------------------------------------------------

NOTHING = container()
AFFINITY = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"namespaceSelector": {}}}
        ]
    }
}


@pytest.mark.parametrize(
    ("scope", "containers", "spec", "is_counted"),
    [
        pytest.param("Terminating", (), {"activeDeadlineSeconds": 9}, True, id="a deadline"),
        pytest.param("Terminating", (), {}, False, id="no deadline"),
        pytest.param("NotTerminating", (), {}, True, id="not terminating"),
        pytest.param("NotTerminating", (), {"activeDeadlineSeconds": 9}, False, id="but it is"),
        pytest.param("BestEffort", (NOTHING,), {}, True, id="asks for nothing"),
        pytest.param("BestEffort", (), {}, False, id="asks for cpu"),
        pytest.param(
            "BestEffort",
            (NOTHING,),
            {"overhead": {"cpu": "1"}},
            True,
            id="overhead alone is best effort",
        ),
        pytest.param(
            "BestEffort",
            (container(requests={"nvidia.com/gpu": 1}),),
            {},
            True,
            id="a gpu alone is best effort",
        ),
        pytest.param("Terminating", (), {"activeDeadlineSeconds": 0}, True, id="at once"),
        pytest.param(
            "BestEffort", (container(limits={"cpu": 1}),), {}, False, id="a limit is a request"
        ),
        pytest.param(
            "BestEffort", (container(requests={"memory": 1}),), {}, False, id="asks for memory"
        ),
        pytest.param(
            "BestEffort", (container(requests={"cpu": "0"}),), {}, True, id="asks for 0 cpu"
        ),
        pytest.param(
            "BestEffort",
            (NOTHING,),
            {"initContainers": [container(requests={"cpu": 1})]},
            False,
            id="an init container asks",
        ),
        pytest.param(
            "BestEffort",
            (NOTHING,),
            {"resources": {"requests": {"cpu": 1}}},
            False,
            id="the pod level asks",
        ),
        pytest.param("NotBestEffort", (), {}, True, id="not best effort"),
        pytest.param("NotBestEffort", (NOTHING,), {}, False, id="best effort"),
        pytest.param("PriorityClass", (), {"priorityClassName": "x"}, True, id="some class"),
        pytest.param("PriorityClass", (), {}, False, id="no class"),
        pytest.param(
            "CrossNamespacePodAffinity", (), {"affinity": AFFINITY}, True, id="across namespaces"
        ),
        pytest.param("CrossNamespacePodAffinity", (), {}, False, id="within its namespace"),
        pytest.param("VolumeAttributesClass", (), {}, True, id="an unknown scope matches"),
    ],
)
def test_11_15_a_scope_says_which_pods_count(scope, containers, spec, is_counted):
    """Spec 11.15."""
    of = picture(rq(hard={"pods": 9}, scopes=[scope]))
    expected = {"rq": {"pods": "1"}} if is_counted else {}
    assert counted(of, pod_template(*containers, **spec)) == expected


@pytest.mark.parametrize(
    ("selected", "name", "is_counted"),
    [
        pytest.param(("In", "high", "low"), "high", True, id="in"),
        pytest.param(("In", "high"), "low", False, id="not in"),
        pytest.param(("In", "high"), "", False, id="no class is in no list"),
        pytest.param(("NotIn", "high"), "low", True, id="not one of them"),
        pytest.param(("NotIn", "high"), "", True, id="no class is not one of them"),
        pytest.param(("NotIn", "high"), "high", False, id="one of them"),
        pytest.param(("Exists",), "low", True, id="any"),
        pytest.param(("Exists",), "", False, id="none"),
        pytest.param(("DoesNotExist",), "", True, id="without one"),
        pytest.param(("DoesNotExist",), "low", False, id="with one"),
        pytest.param(("Around",), "", True, id="an unknown operator matches"),
    ],
)
def test_11_15_the_class_of_a_pod_is_selected(selected, name, is_counted):
    of = picture(rq(hard={"pods": 9}, scopeSelector=about(PriorityClass=selected)))
    template = pod_template(priorityClassName=name) if name else pod_template()
    assert counted(of, template) == ({"rq": {"pods": "1"}} if is_counted else {})


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("strength", [REQUIRED, PREFERRED])
@pytest.mark.parametrize(
    ("term", "crosses"),
    [
        pytest.param({"namespaces": ["x"]}, True, id="names one"),
        pytest.param({"namespaceSelector": {"matchLabels": {"a": "b"}}}, True, id="selects some"),
        pytest.param({"namespaceSelector": {}}, True, id="selects all"),
        pytest.param({"namespaces": []}, False, id="names none"),
        pytest.param({"namespaceSelector": None}, False, id="null"),
        pytest.param({"topologyKey": "zone"}, False, id="its own"),
    ],
)
def test_11_15_affinity_across_namespaces_is_a_scope(kind, strength, term, crosses):
    listed = [term] if strength == REQUIRED else [{"weight": 1, "podAffinityTerm": term}]
    of = picture(rq(hard={"pods": 9}, scopeSelector=about(CrossNamespacePodAffinity=("Exists",))))
    found = counted(of, pod_template(affinity={kind: {strength: listed}}))
    assert found == ({"rq": {"pods": "1"}} if crosses else {})


def test_11_15_a_selector_without_operator_asks_for_any_value():
    selector = {"matchExpressions": [{"scopeName": "PriorityClass"}, "odd"]}
    of = picture(rq(hard={"pods": 9}, scopeSelector=selector))
    assert counted(of, pod_template(priorityClassName="x")) == {"rq": {"pods": "1"}}
    assert counted(of, pod_template()) == {}


def test_11_15_a_pod_that_names_no_class_gets_the_default_one():
    quota = rq(hard={"pods": 9}, scopeSelector=about(PriorityClass=("In", "usual")))
    assert counted(picture(quota), pod_template()) == {}
    assert counted(picture(quota, default_class="usual"), pod_template()) == {"rq": {"pods": "1"}}


def test_11_15_all_scopes_must_match():
    quota = rq(
        hard={"pods": 9}, scopes=["Terminating"], scopeSelector=about(BestEffort=("Exists",))
    )
    assert counted(picture(quota), pod_template(activeDeadlineSeconds=9)) == {}
    both = pod_template(NOTHING, activeDeadlineSeconds=9)
    assert counted(picture(quota), both) == {"rq": {"pods": "1"}}


def test_11_14_each_pod_set_is_counted_where_it_belongs():
    of = picture(
        rq("all", hard=CPU),
        rq("nightly", hard=CPU, scopes=["Terminating"]),
        rq("high", hard=CPU, scopeSelector=about(PriorityClass=("In", "high"))),
    )
    assert counted(of, pod_template(activeDeadlineSeconds=9)) == {
        "all": {"cpu": "1"},
        "nightly": {"cpu": "1"},
    }
    assert counted(of, pod_template(priorityClassName="high")) == {
        "all": {"cpu": "1"},
        "high": {"cpu": "1"},
    }


# -- live pods ---------------------------------------------------------------------------------


def live(*templates, namespace="team-a"):
    """What such pods ask together, as they are added up."""
    total = Resources.of({"pods": len(templates)})
    for each in templates:
        total = total + demand(msgspec.json.decode(each.wire)["spec"])
    return total


def test_11_16_live_pods_count_as_their_templates_do():
    """Spec 11.16."""
    of = picture(
        rq("all", hard={"cpu": 9, "pods": 9}), rq("late", hard=CPU, scopes=["Terminating"])
    )
    ends = pod_template(activeDeadlineSeconds=9)
    found = of.of_pods("team-a", live(pod_template(), ends))
    assert found.to_wire() == {"cpu@all": "2", "cpu@late": "1", "pods@all": "2"}


def test_11_14_pods_are_counted_and_objects_beside_them():
    of = picture(rq(hard={"pods": 9, "count/pods": 9}))
    assert counted(of, pod_template()) == {"rq": {"pods": "1", "count/pods": "1"}}
    unknown = of.of_pods("team-a", amounts(cpu=2) + Resources.of({"pods": 3}))
    assert unknown.to_wire() == {"count/pods@rq": "3", "pods@rq": "3"}


def test_11_14_a_grant_of_no_known_pods_counts_in_every_quota():
    of = picture(rq("all", hard={"pods": 9}), rq("late", hard=CPU, scopes=["Terminating"]))
    found = of.of_pods("team-a", amounts(cpu=2) + Resources.of({"pods": 3}))
    assert found.to_wire() == {"cpu@late": "2", "pods@all": "3"}


SORTS = st.builds(
    Sort,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "high", "low:x"]),
)
SCOPES = st.lists(
    st.builds(
        Scope,
        st.sampled_from(["Terminating", "NotTerminating", "BestEffort", "PriorityClass", "New"]),
        st.sampled_from(["Exists", "In", "NotIn", "DoesNotExist"]),
        st.sampled_from([(), ("high",)]),
    ),
    max_size=3,
)


@given(SORTS)
def test_the_mark_of_a_sort_of_pods_says_all_of_it(sort):
    assert Sort.of_mark(sort.mark) == sort


@given(st.lists(st.tuples(SORTS, st.integers(1, 9)), max_size=5), st.lists(SCOPES, max_size=3))
def test_11_16_any_mixture_of_pods_counts_as_the_sum_of_its_pods(asked, scopes):
    quotas = [
        msgspec.structs.replace(rq(f"q{number}", hard=CPU), scopes=tuple(each))
        for number, each in enumerate(scopes)
    ]
    total = Resources.of({})
    for sort, amount in asked:
        total = total + Resources.of({f"cpu@{sort.mark}": amount})
    found = picture(*quotas).of_pods("team-a", total)
    for quota in quotas:
        expected = sum(amount for sort, amount in asked if matches(quota.scopes, sort))
        assert found.get(f"cpu@{quota.name}") == expected


# -- what a quota demands ----------------------------------------------------------------------

FULL = container(requests={"cpu": 1}, limits={"memory": "1Gi"})


@pytest.mark.parametrize(
    ("hard", "pod_set", "lacking"),
    [
        pytest.param({"cpu": 4}, pods(NOTHING), ("cpu", "main"), id="no request"),
        pytest.param({"requests.cpu": 4}, pods(NOTHING), ("requests.cpu", "main"), id="E7"),
        pytest.param({"requests.memory": 4}, pods(FULL), None, id="a limit is a request, too"),
        pytest.param({"limits.cpu": 4}, pods(FULL), ("limits.cpu", "main"), id="no limit"),
        pytest.param({"limits.memory": "4Gi"}, pods(FULL), None, id="a limit"),
        pytest.param({"cpu": 4}, pods(container(requests={"cpu": 0})), None, id="0 is said"),
        pytest.param(
            {"cpu": 4},
            pods(FULL, initContainers=[container("init")]),
            ("cpu", "init"),
            id="an init container",
        ),
        pytest.param(
            {"cpu": 4},
            pods(NOTHING, resources={"requests": {"cpu": 1}}),
            None,
            id="the pod level says it",
        ),
        pytest.param(
            {"cpu": 4},
            pods(NOTHING, resources={"limits": {"cpu": 1}}),
            None,
            id="the pod level limits it",
        ),
        pytest.param({"limits.ephemeral-storage": 4}, pods(NOTHING), None, id="nor limits of them"),
        pytest.param({"ephemeral-storage": 4}, pods(NOTHING), None, id="not of other resources"),
        pytest.param({"pods": 4}, pods(NOTHING), None, id="not for a number of pods"),
        pytest.param({"cpu": 4}, pods(NOTHING, count=0), None, id="no pod is made"),
    ],
)
def test_11_17_a_container_that_says_nothing_of_what_is_limited_waits(hard, pod_set, lacking):
    found = picture(rq(hard=hard)).refuses("team-a", [pods(FULL, name="first"), pod_set][1:])
    if lacking is None:
        assert found is None
        return
    key, name = lacking
    text = (
        f"resource quota team-a/rq demands {key} of every container; "
        f"container {name} of pod set main sets none"
    )
    assert found == Problem(Reason.MISCONFIGURED, text)


def test_11_17_a_quota_demands_nothing_of_pods_that_it_is_not_about():
    of = picture(rq(hard=CPU, scopes=["Terminating"]))
    assert of.refuses("team-a", [pods(NOTHING)]) is None
    assert of.refuses("team-a", [pods(NOTHING, activeDeadlineSeconds=9)]) is not None


def test_11_17_a_pod_that_gets_the_default_class_is_demanded_of_as_one_of_that():
    quota = rq(hard=CPU, scopeSelector=about(PriorityClass=("In", "usual")))
    assert picture(quota).refuses("team-a", [pods(NOTHING)]) is None
    assert picture(quota, default_class="usual").refuses("team-a", [pods(NOTHING)]) is not None


def test_11_17_each_pod_set_is_looked_at():
    found = picture(rq(hard=CPU)).refuses("team-a", [pods(FULL), pods(NOTHING, name="ps")])
    assert found is not None
    assert "pod set ps" in found.message
