"""What a quota's owner is told is wrong with it (spec 11.6, 22.1)."""

from builders import quota, quotas

from kq.core.resources import Resources
from kq.decide.quotafaults import faults


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
