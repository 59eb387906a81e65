"""ElasticQuotas: the tree by parent labels, who may use what (spec 5.3, 11.3, 15.4)."""

from decimal import Decimal
from fractions import Fraction

import pytest
from builders import amounts, at, namespace, quota, quotas
from hypothesis import example, given
from hypothesis import strategies as st

from kq.core import keys
from kq.core.messages import Reason
from kq.core.plugins import Problem
from kq.core.quotaviews import mapped_namespaces
from kq.core.resources import Resources

ROOT = "koordinator-root-quota"
MAPPED = keys.QUOTA_NAMESPACES
ALLOWED = keys.ALLOWED_NAMESPACES
LABEL = keys.QUOTA_LABEL


def chain(of, name):
    found = of.chain(name)
    return found.message if isinstance(found, Problem) else [level.name for level in found]


# -- the tree ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param([quota("a")], ["a"], id="alone"),
        pytest.param(
            [quota("a", parent="b"), quota("b", parent="c"), quota("c")],
            ["a", "b", "c"],
            id="three levels",
        ),
        pytest.param([quota("a", parent=ROOT), quota(ROOT)], ["a"], id="the root is not checked"),
        pytest.param([quota("a", parent=ROOT)], ["a"], id="whether it exists or not"),
        pytest.param([], "quota a does not exist", id="unknown"),
        pytest.param(
            [quota("a", parent="b")],
            "quota b, ancestor of a, does not exist",
            id="its parent is missing",
        ),
        pytest.param(
            [quota("a", parent="b"), quota("b", parent="c")],
            "quota c, ancestor of a, does not exist",
            id="its parent's parent is missing",
        ),
        pytest.param(
            [quota("a", parent="a")], "quota a is in a cycle: a -> a", id="its own parent"
        ),
        pytest.param(
            [quota("a", parent="b"), quota("b", parent="a")],
            "quota a is in a cycle: a -> b -> a",
            id="a cycle",
        ),
        pytest.param(
            [quota("a", parent="b"), quota("b", parent="c"), quota("c", parent="b")],
            "quota b is in a cycle: b -> c -> b",
            id="below a cycle",
        ),
        pytest.param(
            [quota("a", is_parent=True)],
            "quota a is a parent quota: name one of its children",
            id="marked as a parent",
        ),
        pytest.param(
            [quota("a", parent="b"), quota("b", is_parent=True)], ["a", "b"], id="below a parent"
        ),
    ],
)
def test_the_chain_of_a_quota(tree, expected):
    assert chain(quotas(*tree), "a") == expected


def test_the_reasons_of_what_is_wrong():
    of = quotas(quota("a", parent="a"), quota("p", is_parent=True))
    reasons = [of.chain(name).reason for name in ("a", "p", "x")]
    assert reasons == [Reason.INVALID, Reason.MISCONFIGURED, Reason.NOT_FOUND]


def test_parents_may_take_jobs_if_an_administrator_says_so():
    assert chain(quotas(quota("a", is_parent=True), parents_take_jobs=True), "a") == ["a"]


def test_the_way_up_is_known_also_where_it_is_broken():
    """So that what is in use counts all the same."""
    of = quotas(
        quota("a", parent="b"),
        quota("b", parent="gone"),
        quota("x", parent="y"),
        quota("y", parent="x"),
    )
    assert of.ancestry("a") == ("a", "b", "gone")
    assert of.ancestry("x") == ("x", "y")
    assert of.ancestry("nowhere") == ("nowhere",)
    assert of.names() == ["a", "b", "x", "y"]
    assert of.queue_of("a") == "a"


@given(
    st.dictionaries(
        st.sampled_from("abcde"), st.sampled_from(("", ROOT, *"abcdef")), min_size=1, max_size=5
    )
)
def test_any_parents_make_a_chain_or_a_problem(parents):
    of = quotas(*(quota(name, parent=parent) for name, parent in parents.items()))
    for name in parents:
        found, way = of.chain(name), of.ancestry(name)
        assert way[0] == name
        assert len(set(way)) == len(way)
        assert ROOT not in way
        if not isinstance(found, Problem):
            assert tuple(level.name for level in found) == way
            assert all(each in parents for each in way)
            assert parents[way[-1]] in ("", ROOT)


def test_of_two_with_one_name_the_older_counts():
    """Spec 4.2."""
    old = quota(cpu=1, namespace="x", created=at(-1))
    new = quota(cpu=2, namespace="a")
    for order in ([old, new], [new, old]):
        assert quotas(*order).chain("team-a")[0].limit == amounts(cpu=1)
    same = quota(cpu=3, namespace="b")
    for order in ([new, same], [same, new]):
        assert quotas(*order).chain("team-a")[0].limit == amounts(cpu=2)


@pytest.mark.parametrize(("rate", "cpu"), [("1", 4000), ("1.5", 6000), ("0.3333", 1333), ("0", 0)])
def test_limits_are_oversold_exactly(rate, cpu):
    level = quotas(quota(cpu=4), oversell=Decimal(rate)).chain("team-a")[0]
    assert level.limit == Resources.of({"cpu": cpu})


@given(st.integers(0, 10**40), st.decimals(Decimal("0.0001"), 1000, allow_nan=False, places=12))
@example(10**30 + 1, Decimal("1.5"))
def test_11_12_however_large_a_limit_is_it_is_oversold_exactly(amount, rate):
    of = quota(limit=Resources.of({"pods": amount}))
    limit = quotas(of, oversell=rate).chain("team-a")[0].limit["pods"]
    assert limit <= Fraction(rate) * amount < limit + 1


def test_11_2_every_level_is_oversold():
    tree = [quota("a", cpu=1, parent="b"), quota("b", cpu=3)]
    levels = quotas(*tree, oversell=Decimal("1.25")).chain("a")
    assert [level.limit for level in levels] == [amounts(cpu="1250m"), amounts(cpu="3750m")]


# -- which quota (spec 5.3, case E5) -----------------------------------------------------------


T1 = {LABEL: "t1"}
OWN = quota("team-a", namespace="team-a")
LISTS = quota("x", annotations={MAPPED: '["team-a"]'})


@pytest.mark.parametrize(
    ("labels", "of_namespace", "tree", "default", "expected"),
    [
        pytest.param(T1, {LABEL: "n"}, [OWN, LISTS], "d", "t1", id="E5 a: its label"),
        pytest.param({}, {LABEL: "n"}, [OWN, LISTS], "d", "n", id="the namespace's label"),
        pytest.param({}, {}, [OWN, LISTS], "d", "team-a", id="E5 b: the quota in it of its name"),
        pytest.param({}, {}, [LISTS], "d", "x", id="E5 c: the quota that lists it"),
        pytest.param({}, {}, [], "d", "d", id="E5 d: the default"),
        pytest.param({}, {}, [], "", None, id="E5 d: no default"),
        pytest.param(
            {}, {}, [quota("team-a", namespace="quotas")], "", None, id="of its name, elsewhere"
        ),
        pytest.param(
            {}, {}, [quota("y", namespace="team-a")], "", None, id="in it, of another name"
        ),
        pytest.param(
            {},
            {},
            [quota("x", annotations={MAPPED: "team-a"})],
            "",
            None,
            id="E5 g: malformed",
        ),
        pytest.param({LABEL: ""}, {}, [OWN], "", "team-a", id="an empty label is none"),
        pytest.param(
            {keys.QUOTA_LABELS[2]: "third", keys.QUOTA_LABELS[1]: "second"},
            {},
            [],
            "",
            "second",
            id="the spellings in their order",
        ),
        pytest.param(
            {},
            {},
            [LISTS, quota("older", annotations={MAPPED: '["team-a"]'}, created=at(-1))],
            "",
            "older",
            id="of two that list it the older",
        ),
        pytest.param(
            {},
            {},
            [quota("y", annotations={MAPPED: '["team-a"]'}), LISTS],
            "",
            "x",
            id="of two of one age the first by name",
        ),
        pytest.param(
            {},
            {},
            [LISTS, quota("y", annotations={MAPPED: '["team-a"]'})],
            "",
            "x",
            id="whichever was seen first",
        ),
        pytest.param(
            {}, {}, [OWN, LISTS], "", "team-a", id="the one in it before one that lists it"
        ),
    ],
)
def test_the_quota_of_a_job(labels, of_namespace, tree, default, expected):
    of = quotas(*tree, default_quota=default)
    assert of.quota_of(labels, namespace(labels=of_namespace)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ()),
        ("", ()),
        ("[]", ()),
        ('["a", "b"]', ("a", "b")),
        ("team-a", None),
        ('{"a": 1}', None),
        ('["a", 1]', None),
        ("[" * 5000, None),
        ('["' + "a" * 16384 + '"]', None),
        ("null", None),
    ],
)
def test_the_list_of_namespaces(text, expected):
    texts = {} if text is None else {MAPPED: text}
    namespaces, faults = mapped_namespaces(texts)
    assert (namespaces if not faults else None) == expected


# -- who may use it (spec 15.4, 15.4a, case N2) ------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "allowed"),
    [
        (None, True),
        ("", False),
        ("*", True),
        ("team-a", True),
        ("team-b, team-a", True),
        ("team-*", True),
        ("*-a", True),
        ("team-?", False),
        ("team-[a-z]", False),
        ("Team-a", False),
        (" , ", False),
    ],
)
def test_a_quota_lists_the_namespaces_that_may_use_it(listed, allowed):
    texts = {} if listed is None else {ALLOWED: listed}
    of = quotas(quota("q", annotations=texts))
    found = of.barred(namespace(), "q")
    assert (found is None) == allowed
    if found:
        assert (found.reason, found.message) == (
            Reason.MISCONFIGURED,
            "namespace team-a may not use quota q",
        )


MINE = namespace(labels={LABEL: "mine"})


@pytest.mark.parametrize(
    ("name", "target", "options", "allowed"),
    [
        pytest.param("mine", quota("mine"), {}, True, id="its own"),
        pytest.param("other", quota("other"), {}, False, id="another's"),
        pytest.param(
            "inside", quota("inside", namespace="team-a"), {}, True, id="one that lies in it"
        ),
        pytest.param(
            "open", quota("open", annotations={ALLOWED: "team-*"}), {}, True, id="one that lets it"
        ),
        pytest.param(
            "shut",
            quota("shut", annotations={ALLOWED: "team-b"}),
            {},
            False,
            id="one that lets others",
        ),
        pytest.param(
            "other", quota("other"), {"enforce_namespaces": False}, True, id="a mere default"
        ),
        pytest.param("none", quota("x"), {}, True, id="one that does not exist is M4, not M5"),
    ],
)
def test_a_mapped_namespace_may_not_use_the_quota_of_others(name, target, options, allowed):
    of = quotas(target, **options)
    assert (of.barred(MINE, name) is None) == allowed


def test_15_4_the_list_counts_at_the_named_quota_only():
    """That of an ancestor binds nobody below it."""
    shut = quota("top", is_parent=True, annotations={ALLOWED: "nobody"})
    of = quotas(shut, quota("q", parent="top"))
    assert of.barred(namespace(), "q") is None
    assert of.barred(namespace(), "top") is not None


LISTING = {MAPPED: '["team-a"]'}


@pytest.mark.parametrize(
    ("tree", "barred"),
    [
        pytest.param([quota("team-a", namespace="team-a")], True, id="by the quota in it"),
        pytest.param([quota("x", annotations=LISTING)], True, id="by a quota that lists it"),
        pytest.param([quota("x", annotations={MAPPED: "team-a"})], False, id="by none"),
    ],
)
def test_15_4a_a_namespace_is_mapped_by_quotas_too(tree, barred):
    of = quotas(*tree, quota("other"))
    assert (of.barred(namespace(), "other") is not None) is barred
    assert all(of.barred(namespace(), each.name) is None for each in tree)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(quota("mine", annotations={ALLOWED: "team-b"}), id="that it is mapped to"),
        pytest.param(
            quota("mine", namespace="team-a", annotations={ALLOWED: ""}), id="that lies in it"
        ),
    ],
)
def test_15_4_a_list_binds_those_too_who_could_use_the_quota_without_it(target):
    assert quotas(target).barred(MINE, "mine") is not None


def test_a_namespace_that_is_not_mapped_may_use_any():
    assert quotas(quota("other")).barred(namespace(), "other") is None


@pytest.mark.parametrize("key", keys.RECLAIM)
def test_a_quota_says_by_an_annotation_how_it_takes_back_its_min(key):
    """Spec 13.9."""
    found = quotas(quota("top", is_parent=True), quota(parent="top", annotations={key: "Any"}))
    assert [level.reclaim for level in found.chain("team-a")] == ["Any", ""]
