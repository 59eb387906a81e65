"""Quotas as levels of chains, where min bounds what nobody may preempt (spec 11.13)."""

from decimal import Decimal

import pytest
from builders import amounts, quota, quotas
from quota_trees import node, tree
from resource_quotas import picture as resource_quotas
from resource_quotas import rq

from kq.core.keys import PREEMPTIBLE_LABELS, is_preemptible
from kq.core.options import QuotaOptions
from kq.core.resources import Resources, firm
from kq.quota import QUOTAS
from kq.quota.elasticquotatree import ElasticQuotaTrees

FIRM = {PREEMPTIBLE_LABELS[0]: "false"}
ASKED = amounts(cpu=1, memory="1Gi")
BOTH = Resources.of({"cpu": 1000, "memory": 1024**3, firm("cpu"): 1000, firm("memory"): 1024**3})


def limits(chain):
    """What each level allows of cpu and of firm cpu, where it limits them."""
    return [
        (level.name, {name: level.limit[name] for name in CPU if name in level.limit})
        for level in chain
    ]


def of_both(cpu, firm_cpu):
    return {"cpu": cpu, firm("cpu"): firm_cpu}


CPU = ("cpu", firm("cpu"))
TREE = node(
    "root",
    node("team", node("leaf", min={"cpu": 1}, cpu=2), min={"cpu": 2}, cpu=4),
    node("other", cpu=4),
    min={"cpu": 3},
    cpu=8,
)


ROOT = ("root", {"cpu": 8000})


def trees(**options):
    return ElasticQuotaTrees.build(QuotaOptions(**options), [tree(TREE)])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "root/team/leaf",
            [("root/team/leaf", of_both(2000, 1000)), ("root/team", of_both(4000, 2000)), ROOT],
            id="node and ancestors, but the root",
        ),
        pytest.param("root/other", [("root/other", of_both(4000, 0)), ROOT], id="no min: nothing"),
        pytest.param("root", [("root", of_both(8000, 3000))], id="of a root its own min"),
    ],
)
def test_11_13_min_is_a_limit_at_the_node_and_every_ancestor_but_the_root(name, expected):
    assert limits(trees(firm_within_min=True).chain(name)) == expected


def test_11_13_of_elastic_quotas_the_root_is_koordinators_own():
    parent = quota("top", cpu=8, minimum=amounts(cpu=3), is_parent=True)
    child = quota("leaf", cpu=4, minimum=amounts(cpu=1), parent="top")
    chain = quotas(parent, child, firm_within_min=True).chain("leaf")
    assert limits(chain) == [("leaf", of_both(4000, 1000)), ("top", of_both(8000, 3000))]


def test_min_is_not_oversold():
    of = quota(cpu=4, minimum=amounts(cpu=2))
    chain = quotas(of, firm_within_min=True, oversell=Decimal(2)).chain("team-a")
    assert limits(chain) == [("team-a", of_both(8000, 2000))]


@pytest.mark.parametrize("picture", [trees(), quotas(quota("root", minimum=amounts(cpu=3)))])
def test_min_limits_nothing_where_nobody_asked_for_that(picture):
    assert [level.limit for level in picture.chain("root") if firm("cpu") in level.limit] == []
    assert picture.of_job(FIRM, ASKED) is ASKED


@pytest.mark.parametrize(
    ("labels", "default", "expected"),
    [
        pytest.param({}, True, ASKED, id="may be preempted"),
        pytest.param({}, False, BOTH, id="may not, by default"),
        pytest.param(FIRM, True, BOTH, id="may not"),
        pytest.param({PREEMPTIBLE_LABELS[1]: "false"}, True, BOTH, id="in the older spelling"),
        pytest.param({PREEMPTIBLE_LABELS[0]: "true"}, False, ASKED, id="may, by its own word"),
    ],
)
def test_what_nobody_may_preempt_counts_as_firm_too(labels, default, expected):
    options = {"firm_within_min": True, "preemptible": default}
    assert quotas(**options).of_job(labels, ASKED) == expected
    assert trees(**options).of_job(labels, ASKED) == expected


KOORDINATOR = "quota.scheduling.koordinator.sh/preemptible"
ALIBABA = "quota.scheduling.alibabacloud.com/preemptible"


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize(
    ("labels", "preemptible"),
    [
        pytest.param({KOORDINATOR: "false", ALIBABA: "true"}, False, id="the first spelling wins"),
        pytest.param({KOORDINATOR: "true", ALIBABA: "false"}, True, id="whatever it says"),
        pytest.param({ALIBABA: "False"}, False, id="in any case"),
        pytest.param({ALIBABA: "TRUE"}, True, id="likewise"),
        pytest.param({KOORDINATOR: "no"}, None, id="what is neither is not said"),
    ],
)
def test_11_13_who_lets_others_take_its_grants(labels, preemptible, default):
    expected = default if preemptible is None else preemptible
    assert is_preemptible(labels, default) is expected


def test_resource_quotas_and_no_quotas_have_no_min():
    options = QuotaOptions(firm_within_min=True)
    of_namespace = resource_quotas(rq(hard={"cpu": "4"}), firm_within_min=True)
    assert of_namespace.of_job(FIRM, ASKED) is ASKED
    assert limits(of_namespace.chain("team-a")) == [("team-a/rq", {})]
    assert QUOTAS[""](options, []).of_job(FIRM, ASKED) is ASKED
