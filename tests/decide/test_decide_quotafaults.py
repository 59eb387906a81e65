"""What a quota's owner is told is wrong with it (spec 11.6, 22.1)."""

import msgspec
import pytest
from builders import at, quota, quotas

from kq.core.quotaviews import QuotaTree, ResourceQuota
from kq.core.resources import Resources
from kq.decide.quotafaults import (
    Fault,
    QuotaRemarks,
    faults,
    of_quotas,
    of_resource_quotas,
    of_trees,
    texts_of_quotas,
    texts_of_resource_quotas,
    texts_of_trees,
)


def of(*each, name="p"):
    picture = quotas(*each)
    own = next(one for one in each if one.name == name)
    children = [one for one in each if one.parent == name]
    return faults(own, children, picture.chain(name))


def test_a_quota_in_good_order_has_none():
    assert of(quota("p", cpu=4, is_parent=True), quota("c", cpu=4, parent="p")) == ()


def test_a_cycle_is_told_with_its_members():
    found = of(quota("p", parent="c"), quota("c", parent="p", is_parent=True), name="c")
    assert "quota c is in a cycle: c -> p -> c" in found


def test_a_parent_that_is_not_marked_is_told():
    (text,) = of(quota("p", cpu=4), quota("c", cpu=4, parent="p"))
    assert text.startswith("quota p is the parent of c, but is not marked")


def test_children_that_may_use_more_together_are_a_warning():
    found = of(
        quota("p", cpu=4, is_parent=True),
        quota("a", cpu=3, parent="p"),
        quota("b", cpu=2, parent="p"),
        quota("c", parent="p"),
    )
    text = "the children of quota p may use 5 cpu together, but its own max is 4: they share it"
    assert found == (text,)


def test_values_that_cannot_be_read_are_told_first():
    bad = quota("p", limit=Resources.of({}), defects=("cpu in max is 4x, not a quantity",))
    assert of(bad) == ("cpu in max is 4x, not a quantity",)


def test_4_2_of_two_quotas_of_one_name_the_younger_is_told():
    old, young = quota("q"), quota("q", namespace="z", created=at(5))
    assert list(of_quotas([young, old], [], ())) == [
        Fault(young, "DuplicateQuota", ("quota q exists in namespace quotas already",)),
        Fault(old, "InvalidQuota", ()),
    ]
    assert list(of_quotas([], [], ())) == []


def test_4_2_of_two_of_one_age_the_first_namespace_counts():
    one, other = quota("q", namespace="a"), quota("q", namespace="b")
    for named in ([one, other], [other, one]):
        assert [fault.about for fault in of_quotas(named, [], ())] == [other, one]
        assert texts_of_quotas(named) == {"q": ()}


def tree(*nodes, name="tree", minute=0, defects=()):
    return QuotaTree(
        namespace="kube-system",
        name=name,
        uid=f"uid-of-{name}",
        resource_version="1",
        created=at(minute),
        nodes=nodes,
        defects=defects,
    )


def below(parent, name, **fields):
    return quota(f"{parent}/{name}", parent=parent, **fields)


ROOT = quota("root", cpu=4, is_parent=True)


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        pytest.param([ROOT, below("root", "a", cpu=4)], [], id="in good order"),
        pytest.param(
            [ROOT, below("root", "a", namespaces=("n",)), below("root", "b", namespaces=("n",))],
            ["namespace n is listed by root/a already: it does not count for root/b"],
            id="a namespace of two nodes",
        ),
        pytest.param(
            [ROOT, below("root", "a"), below("root", "a")],
            ["quota root/a stands 2 times in the tree: its units wait"],
            id="two nodes of one path",
        ),
        pytest.param(
            [msgspec.structs.replace(ROOT, namespaces=("n",)), below("root", "a")],
            ["quota root has children and lists namespaces: list them on a child"],
            id="namespaces on an inner node",
        ),
        pytest.param(
            [ROOT, below("root", "a", cpu=3), below("root", "b", cpu=2)],
            [
                "the children of quota root may use 5 cpu together, but its own max is 4: "
                "they share it"
            ],
            id="a max below the sum of the children's",
        ),
    ],
)
def test_11_6_what_does_not_fit_together_in_a_tree_is_told(nodes, told):
    (found,) = of_trees([tree(*nodes)])
    assert list(found.texts) == told


def test_4_3_of_several_trees_the_oldest_counts_and_the_others_are_told():
    old, young = tree(name="old", defects=("x",)), tree(name="young", minute=5)
    assert list(of_trees([young, old])) == [
        Fault(
            young,
            "DuplicateQuotaTree",
            ("tree old is older and counts: this one is ignored",),
        ),
        Fault(old, "InvalidQuota", ("x",)),
    ]
    assert list(of_trees([])) == []


def test_4_3_of_two_trees_of_one_age_the_first_by_name_counts():
    one, other = tree(ROOT, name="a"), tree(name="b")
    for trees in ([one, other], [other, one]):
        assert [fault.about for fault in of_trees(trees)] == [other, one]
        assert list(texts_of_trees(trees)) == ["root"]


def test_22_1_what_of_a_resource_quota_cannot_be_read_is_told():
    text = "cpu in hard is x, not a quantity"
    bad, good = (
        ResourceQuota(
            namespace="team-a",
            name=name,
            uid=f"uid-of-{name}",
            resource_version="1",
            created=at(0),
            limit=Resources.of({"cpu": 0}),
            defects=defects,
        )
        for name, defects in (("rq", (text,)), ("good", ()))
    )
    assert list(of_resource_quotas([bad, good])) == [
        Fault(bad, "InvalidQuota", (text,)),
        Fault(good, "InvalidQuota", ()),
    ]
    assert texts_of_resource_quotas([bad, good]) == {"team-a/rq": (text,), "team-a/good": ()}


# -- what Queues say of it -------------------------------------------------------------------------


def test_11_6_each_quota_that_counts_has_its_own_texts():
    ignored = quota("a", defects=("ignored",), created=at(5))
    of_each = texts_of_quotas(
        [ignored, quota("p", cpu=1), quota("a", cpu=2, parent="p", defects=("bad",))]
    )
    unmarked, shared = of_each["p"]
    assert unmarked.startswith("quota p is the parent of a, but is not marked")
    assert shared.startswith("the children of quota p may use 2 cpu together")
    assert of_each["a"] == ("bad",)


def test_11_6_a_child_that_is_ignored_shares_nothing():
    parent, child = quota("p", cpu=2, is_parent=True), quota("a", cpu=2, parent="p")
    ignored = quota("a", cpu=9, parent="p", namespace="z", created=at(5))
    assert texts_of_quotas([ignored, parent, child])["p"] == ()


def test_11_6_what_keeps_units_waiting_is_their_own_message():
    """Its Queue is inactive then and says so; it is not said a second time."""
    assert texts_of_quotas([quota("a", parent="a", is_parent=True)]) == {"a": ()}


def test_11_6_each_node_of_the_tree_that_counts_has_its_own_texts():
    one = below("root", "a", cpu=3, defects=("root/a: bad",), namespaces=("n",))
    two = below("root", "b", cpu=2, namespaces=("n",))
    found = texts_of_trees([tree(ROOT, one, two), tree(name="young", minute=5)])
    assert {path: list(texts) for path, texts in found.items()} == {
        "root": [
            "the children of quota root may use 5 cpu together, but its own max is 4: they share it"
        ],
        "root/a": ["root/a: bad"],
        "root/b": ["namespace n is listed by root/a already: it does not count for root/b"],
    }
    assert texts_of_trees([]) == {}


def test_11_6_a_queue_says_what_is_wrong_with_its_quota_and_then_with_those_above():
    picture = quotas(quota("a", parent="b"), quota("b", parent="c"), quota("c"), quota("d"))
    remarks = QuotaRemarks(lambda: {"a": ("own",), "c": ("top", "more"), "d": ("apart",)})
    assert remarks.of("a", picture) == ("own", "top", "more")
    assert remarks.of("b", picture) == ("top", "more")


def test_what_is_wrong_is_looked_for_once_a_picture():
    looks = []

    def find():
        looks.append(1)
        return {"a": (str(len(looks)),)}

    remarks, picture, later = QuotaRemarks(find), quotas(quota("a")), quotas(quota("a"))
    found = [remarks.of("a", each) for each in (picture, picture, later, later)]
    assert found == [("1",), ("1",), ("2",), ("2",)]
