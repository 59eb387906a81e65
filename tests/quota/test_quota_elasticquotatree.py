"""ElasticQuotaTrees: nodes by label, namespace and path; their limits and Queues (spec 11.4)."""

import json
import re
from decimal import Decimal

import pytest
from builders import amounts, namespace
from hypothesis import given
from hypothesis import strategies as st
from quota_trees import LABEL, SEED, node, tree, tree_object

from kq.core import keys
from kq.core.keys import is_label_value
from kq.core.messages import Reason
from kq.core.options import QuotaOptions
from kq.core.plugins import Problem
from kq.core.quotaviews import queue_name
from kq.quota.elasticquotatree import ElasticQuotaTrees
from kq.quota.treeview import quota_tree

TEAMS = node(
    "root",
    node("a", node("train", cpu=2), node("infer", cpu=2), cpu=3),
    node("b", node("train", cpu=4), cpu=4),
    node("c", cpu=1, namespaces=["team-c"]),
    cpu=6,
)


def picture(root, **options):
    return ElasticQuotaTrees.build(QuotaOptions(**options), [tree(root)])


def chain(of, name):
    found = of.chain(name)
    return found.message if isinstance(found, Problem) else [level.name for level in found]


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("root/a/train", ["root/a/train", "root/a", "root"], id="a leaf"),
        pytest.param("root/a", ["root/a", "root"], id="an inner node takes jobs too"),
        pytest.param("root", ["root"], id="the root is checked"),
        pytest.param("root/x", "quota root/x does not exist", id="no such node"),
        pytest.param("train", "quota train does not exist", id="no path"),
    ],
)
def test_11_4_the_chain_is_the_node_and_all_its_ancestors(name, expected):
    assert chain(picture(TEAMS), name) == expected


def test_11_4_a_missing_max_limits_nothing_and_a_missing_min_is_nothing():
    (level,) = picture(node("root")).chain("root")
    assert (dict(level.limit.items()), dict(level.minimum.items())) == ({}, {})


def test_11_2_limits_are_oversold():
    levels = picture(TEAMS, oversell=Decimal("1.5")).chain("root/c")
    assert [level.limit for level in levels] == [amounts(cpu="1500m"), amounts(cpu=9)]


def test_11_5_a_node_that_is_gone_is_waited_for():
    found = picture(TEAMS).chain("root/gone")
    assert found == Problem(Reason.NOT_FOUND, "quota root/gone does not exist")


def test_11_6_a_path_that_two_nodes_have_takes_no_units_nor_do_those_below():
    of = picture(node("root", node("a", node("x")), node("a"), node("b")))
    text = "quota root/a stands twice in its tree: rename one"
    assert of.chain("root/a") == Problem(Reason.INVALID, text)
    assert of.chain("root/a/x") == Problem(Reason.INVALID, text)
    assert chain(of, "root/b") == ["root/b", "root"]


def test_11_6_of_several_paths_that_stand_twice_the_topmost_is_named():
    of = picture(node("root", node("a", node("x"), node("x")), node("a")))
    assert chain(of, "root/a/x") == "quota root/a stands twice in its tree: rename one"


def test_4_3_of_two_trees_of_one_age_the_first_by_name_counts():
    one, other = tree(node("one"), name="a"), tree(node("other"), name="b")
    for trees in ([one, other], [other, one]):
        assert ElasticQuotaTrees.build(QuotaOptions(), trees).names() == ("one",)


def test_4_3_the_oldest_tree_counts():
    young, old = tree(node("young"), name="a", minute=5), tree(node("old"), name="b", minute=1)
    of = ElasticQuotaTrees.build(QuotaOptions(), [young, old])
    assert of.names() == ("old",)


def test_no_tree_has_no_quotas():
    of = ElasticQuotaTrees.build(QuotaOptions(), [])
    assert (of.names(), of.auto_made("root")) == ((), None)


# -- attribution -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "of_namespace", "expected"),
    [
        pytest.param({}, namespace("team-c"), "root/c", id="the node that lists it"),
        pytest.param({}, namespace("else"), None, id="nothing answers"),
        pytest.param({LABEL: "infer"}, namespace("else"), "root/a/infer", id="a bare name"),
        pytest.param({LABEL: "train"}, namespace("else"), "train", id="a name of two nodes"),
        pytest.param(
            {LABEL: "root-b-train"}, namespace("else"), "root/b/train", id="the Queue's name"
        ),
        pytest.param({LABEL: "root"}, namespace("else"), "root", id="the root"),
        pytest.param({LABEL: "nobody"}, namespace("team-c"), "nobody", id="an unknown name"),
        pytest.param({LABEL: ""}, namespace("team-c"), "root/c", id="an empty label is none"),
        pytest.param(
            {},
            namespace("team-c", labels={LABEL: "infer"}),
            "root/a/infer",
            id="the namespace's label before the tree",
        ),
    ],
)
def test_5_3_the_node_of_a_job(labels, of_namespace, expected):
    assert picture(TEAMS).quota_of(labels, of_namespace) == expected


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        pytest.param("infer", "root/a/infer", id="a bare name"),
        pytest.param("root/b/train", "root/b/train", id="a path"),
        pytest.param("b/train", "root/b/train", id="a path below the root"),
        pytest.param("root-c", "root/c", id="a Queue's name"),
        pytest.param("nobody", "nobody", id="unknown"),
    ],
)
def test_5_5_the_default_quota_may_be_a_path(default, expected):
    assert picture(TEAMS, default_quota=default).quota_of({}, namespace("else")) == expected


def test_5_3_the_default_quota_is_only_for_those_who_have_no_other():
    of = picture(TEAMS, default_quota="infer")
    assert of.quota_of({}, namespace("team-c")) == "root/c"
    assert of.quota_of({LABEL: "nobody"}, namespace("else")) == "nobody"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("root/a/infer", "infer", id="its bare name"),
        pytest.param("root/a/train", "root-a-train", id="its Queue's, if two are called so"),
        pytest.param("root", "root", id="the root"),
        pytest.param("root/gone", None, id="a path that no label can say"),
    ],
)
def test_5_5_what_is_written_into_a_label(path, expected):
    spellings = picture(TEAMS).spellings(path)
    assert next((each for each in spellings if is_label_value(each)), None) == expected


def test_5_5_a_node_that_no_label_can_name_is_named_by_its_path_alone():
    of = picture(node("root", node("x" * 70, node("y" * 64))))
    assert not any(map(is_label_value, of.spellings(f"root/{'x' * 70}/{'y' * 64}")))


def test_11_6_of_two_nodes_that_list_a_namespace_the_first_in_the_document_counts():
    root = node("root", node("a", node("x", namespaces=["n"])), node("b", namespaces=["n"]))
    assert picture(root).quota_of({}, namespace("n")) == "root/a/x"


NAMES = st.sampled_from(["a", "b", "A", "a-b", "a_b", "root", "x.y"])


@st.composite
def roots(draw, depth=3):
    def grow(name, left):
        count = draw(st.integers(0, 3)) if left else 0
        return node(name, *(grow(draw(NAMES), left - 1) for _ in range(count)))

    return grow("root", depth)


@given(roots())
def test_5_5_what_is_written_into_a_label_is_read_back_as_the_same_node(root):
    of = picture(root)
    for path in of.names():
        for spelling in filter(is_label_value, of.spellings(path)):
            assert of.quota_of({LABEL: spelling}, namespace("else")) == path


@given(roots())
def test_11_4_every_chain_ends_at_the_root_and_every_node_has_a_queue(root):
    of = picture(root)
    for path in of.names():
        assert of.ancestry(path)[-1] == "root"
        assert of.auto_made(of.queue_of(path)) is not None


# -- who may use what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "of", "may"),
    [
        pytest.param(None, "else", True, id="no list"),
        pytest.param("team-*", "team-d", True, id="a wildcard"),
        pytest.param("team-*, other", "else", False, id="not in the list"),
        pytest.param("", "else", False, id="an empty list"),
        pytest.param(None, "team-c", False, id="mapped to another node (15.4a)"),
        pytest.param("team-c", "team-c", True, id="mapped to another, but in the list"),
    ],
)
def test_15_4_the_attribute_lists_who_may_use_a_node(listed, of, may):
    attributes = {} if listed is None else {keys.ALLOWED_NAMESPACES: listed}
    root = node("root", node("a", attributes=attributes), node("c", namespaces=["team-c"]), cpu=1)
    found = picture(root).barred(namespace(of), "root/a")
    text = f"namespace {of} may not use quota root/a"
    assert found == (None if may else Problem(Reason.MISCONFIGURED, text))


@pytest.mark.parametrize(
    ("path", "may"), [("root/c", True), ("root/b", False), ("root", False), ("root/gone", True)]
)
def test_15_4a_a_namespace_that_a_label_maps_may_use_that_node_alone(path, may):
    """One that does not exist is told as M4."""
    labelled = namespace("else", labels={LABEL: "c"})
    assert (picture(TEAMS).barred(labelled, path) is None) is may


def test_15_4a_the_mapping_may_be_a_mere_default():
    of = picture(TEAMS, enforce_namespaces=False)
    assert of.barred(namespace("team-c"), "root/b") is None


def test_15_4_the_list_counts_at_the_named_node_only():
    root = node("root", node("a"), attributes={keys.ALLOWED_NAMESPACES: "nobody"})
    assert picture(root).barred(namespace("else"), "root/a") is None


# -- Queues ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("root/root.defaultQuotaGroup", "root-root.defaultquotagroup", id="seed A"),
        pytest.param("root/a_b/C", "root-a-b-c", id="underscores and capitals"),
        pytest.param("root/-a./b", "root--a.b", id="no part of a name ends in a dash"),
        pytest.param("root/gpu pool", "root-gpu-pool", id="what no name may have"),
    ],
)
def test_3_3_the_name_of_a_nodes_queue(path, expected):
    assert queue_name(path) == expected


@given(st.text(max_size=300))
def test_3_3_every_path_makes_a_name_that_the_api_server_takes(path):
    name = queue_name(path)
    part = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    assert len(name) <= 253
    assert re.fullmatch(rf"{part}(\.{part})*", name)


def test_3_3_leaves_have_queues_and_inner_nodes_get_them_on_demand():
    of = picture(TEAMS)
    made = {queue: of.auto_made(queue) for queue in ("root-a", "root-a-train", "root-c", "x")}
    assert {name: each and (each.quota, each.on_demand) for name, each in made.items()} == {
        "root-a": ("root/a", True),
        "root-a-train": ("root/a/train", False),
        "root-c": ("root/c", False),
        "x": None,
    }


def test_10_5_the_policy_is_an_attribute_and_others_become_annotations():
    attributes = {"koord-queue/queue-policy": "Block", "koord-queue/priority-threshold": "7"}
    made = picture(node("root", attributes=attributes)).auto_made("root")
    assert made.follows.name == "root"
    assert made.follows.labels == {"koord-queue/queue-policy": "Block"}
    assert made.follows.annotations == {"koord-queue/priority-threshold": "7"}


# -- reading -----------------------------------------------------------------------------------


def test_the_tree_of_the_example_is_read():
    of = ElasticQuotaTrees.build(QuotaOptions(), [quota_tree(json.dumps(SEED).encode())])
    assert of.quota_of({}, namespace("default")) == "root/root.defaultQuotaGroup"
    leaf, root = of.chain("root/root.defaultQuotaGroup")
    assert leaf.limit.to_wire()["memory"] == "4Gi"
    assert root.limit.to_wire()["aliyun.com/gpu-mem"] == "32"


@pytest.mark.parametrize(
    ("root", "defects"),
    [
        pytest.param(node("root", max={"cpu": "x"}), 1, id="a max that cannot be read"),
        pytest.param(node("root", min={"cpu": 2}, max={"cpu": 1}), 1, id="min above max"),
        pytest.param(node("root", {"max": {}}), 1, id="a child without a name"),
        pytest.param(node("root", "child"), 1, id="a child that is no map"),
        pytest.param({"children": None}, 0, id="a root without a name"),
        pytest.param({}, 0, id="no root"),
    ],
)
def test_22_1_what_cannot_be_read_is_told_and_never_unlimited(root, defects):
    found = quota_tree(json.dumps(tree_object(root)).encode())
    assert len(found.defects) == defects
    assert {text for each in found.nodes for text in each.defects} <= {*found.defects}
    assert all(not any(each.limit.items()) or each.limit["cpu"] == 0 for each in found.nodes)


def test_22_1_what_is_wrong_with_a_node_is_known_of_that_node():
    found = tree(node("root", node("a", max={"cpu": "x"}), node("b", cpu=1), cpu=1))
    told = {each.name: each.defects for each in found.nodes}
    text = "root/a: cpu in max is x, not a quantity"
    assert told == {"root": (), "root/a": (text,), "root/b": ()}
    assert found.defects == (text,)


def test_a_root_without_a_name_is_called_root():
    of = picture({"max": {"cpu": 1}, "children": [node("a")]})
    assert chain(of, "root/a") == ["root/a", "root"]


def test_22_1_a_tree_outside_of_kube_system_is_no_tree():
    assert quota_tree(json.dumps(tree_object(node("root"), namespace="else")).encode()) is None


def test_22_1_nodes_below_depth_32_are_ignored():
    root = node("n40")
    for number in range(39, 0, -1):
        root = node(f"n{number}", root)
    found = quota_tree(json.dumps(tree_object(root)).encode())
    assert len(found.nodes) == 32
    assert "deeper than 32" in found.defects[0]


@pytest.mark.parametrize("key", keys.RECLAIM)
def test_a_node_says_by_an_attribute_how_it_takes_back_its_min(key):
    """Spec 13.9."""
    found = picture(node("root", node("a", cpu=1, attributes={key: "Any"})))
    assert [level.reclaim for level in found.chain("root/a")] == ["Any", ""]
