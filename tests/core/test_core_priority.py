"""Whose priority counts: the steps of spec 12.8, one after the other."""

import pytest

from kq.core.keys import PRIORITY
from kq.core.priority import DerivedPriority, PriorityClassView, derive, parse_int32

GOLD = PriorityClassView(name="gold", value=1000)
NORMAL = PriorityClassView(name="normal", value=50, global_default=True)
LATER = PriorityClassView(name="later", value=80, global_default=True)


def template(class_name=None, number=None):
    return {"spec": {"priorityClassName": class_name, "priority": number}}


def classes(*views):
    return {view.name: view for view in views}


@pytest.mark.parametrize(
    ("annotations", "templates", "known", "expected"),
    [
        pytest.param(
            {PRIORITY: "7"},
            [template("gold", 3)],
            classes(GOLD, NORMAL),
            DerivedPriority(value=7, class_name="gold"),
            id="the annotation goes before the class, which stays known",
        ),
        pytest.param(
            {PRIORITY: "-2147483648"},
            [],
            {},
            DerivedPriority(value=-(2**31)),
            id="negative priorities are legal",
        ),
        pytest.param(
            {PRIORITY: "2147483648"},
            [template("gold")],
            classes(GOLD),
            DerivedPriority(value=1000, class_name="gold", bad_annotation="2147483648"),
            id="a bad annotation gives way to the class",
        ),
        pytest.param(
            None,
            [template("gold", 3)],
            classes(GOLD),
            DerivedPriority(value=1000, class_name="gold"),
            id="the class goes before the number",
        ),
        pytest.param(
            {},
            [template("gold", 7)],
            classes(NORMAL),
            DerivedPriority(value=7, missing_class="gold"),
            id="a missing class gives way to the number",
        ),
        pytest.param(
            {},
            [template("gold")],
            {},
            DerivedPriority(missing_class="gold"),
            id="a missing class and no number: none",
        ),
        pytest.param(
            {},
            [template("gold")],
            classes(NORMAL),
            DerivedPriority(value=50, class_name="normal", missing_class="gold"),
            id="a missing class and no number: the default class",
        ),
        pytest.param(
            {},
            [template()],
            classes(GOLD, NORMAL),
            DerivedPriority(value=50, class_name="normal"),
            id="no class named: the default class",
        ),
        pytest.param(
            {},
            [template()],
            classes(PriorityClassView(name="least", value=1), NORMAL),
            DerivedPriority(value=50, class_name="normal"),
            id="the default class, though another one is lower",
        ),
        pytest.param(
            {}, [template()], classes(GOLD), DerivedPriority(), id="no class is the default"
        ),
        pytest.param(
            {},
            [template()],
            classes(LATER, NORMAL),
            DerivedPriority(value=50, class_name="normal"),
            id="of two default classes the lower, as the API server",
        ),
        pytest.param(
            {},
            [template(number=0)],
            classes(NORMAL),
            DerivedPriority(value=0),
            id="a number of 0 is a number",
        ),
        pytest.param({}, [template()], {}, DerivedPriority(), id="nothing sets one"),
        pytest.param(
            {},
            [template(), template(number=3), template("gold")],
            classes(GOLD),
            DerivedPriority(value=3),
            id="the first template that sets either",
        ),
        pytest.param(
            {},
            [template("gold"), template(number=3)],
            {},
            DerivedPriority(missing_class="gold"),
            id="one template decides, another does not mend it",
        ),
        pytest.param(
            {},
            [{}, {"spec": None}, {"spec": {"priority": True}}, {"spec": {"priority": 2**31}}],
            {},
            DerivedPriority(),
            id="what is no priority is none",
        ),
    ],
)
def test_the_first_step_that_answers_counts(annotations, templates, known, expected):
    assert derive(annotations, templates, known) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        ("2147483647", 2**31 - 1),
        ("2147483648", None),
        ("-2147483649", None),
        ("", None),
        (" 5", None),
        ("5\n", None),
        ("5.0", None),
        ("1e3", None),
        ("1_000", None),
        ("\u0665", None),
        ("9" * 5000, None),
        ("high", None),
    ],
    ids=lambda value: repr(value)[:14],
)
def test_an_int32_is_plain_ascii(text, value):
    assert parse_int32(text) == value
