"""Quantities are read and written as Kubernetes does; quantities.tsv holds its own answers.

The table was made with ParseQuantity, CanonicalizeBytes, MilliValue and Value of apimachinery
0.36.3. MilliValue and Value are left out where they overflow int64 or the quantity is negative.
"""

import csv
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kq.core.quantity import NANO, Format, Quantity, parse_quantity
from kq.errors import QuantityError


def answers_of_kubernetes():
    with (Path(__file__).parent / "quantities.tsv").open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


ANSWERS = answers_of_kubernetes()
TAKEN = [answer for answer in ANSWERS if answer["canonical"] != "error"]
REFUSED = [answer["text"] for answer in ANSWERS if answer["canonical"] == "error"]


def test_the_table_has_both_kinds_of_answers():
    assert len(TAKEN) > 400
    assert len(REFUSED) > 50


def test_what_kubernetes_takes_is_printed_as_kubernetes_prints_it():
    printed = {answer["text"]: str(parse_quantity(answer["text"])) for answer in TAKEN}
    assert printed == {answer["text"]: answer["canonical"] for answer in TAKEN}


def test_what_kubernetes_refuses_is_refused():
    taken = []
    for text in REFUSED:
        try:
            taken.append((text, parse_quantity(text)))
        except QuantityError:
            continue
    assert taken == []


def test_thousandths_are_those_of_kubernetes():
    known = [answer for answer in TAKEN if answer["milli"]]
    milli = {answer["text"]: str(parse_quantity(answer["text"]).milli) for answer in known}
    assert milli == {answer["text"]: answer["milli"] for answer in known}


def test_whole_units_are_those_of_kubernetes():
    known = [answer for answer in TAKEN if answer["units"]]
    units = {answer["text"]: str(parse_quantity(answer["text"]).units) for answer in known}
    assert units == {answer["text"]: answer["units"] for answer in known}


@pytest.mark.parametrize(
    ("written", "nano"),
    [
        ("1e3", 1000 * NANO),
        ("12E6", 12_000_000 * NANO),
        ("1E", 10**18 * NANO),
        ("0.5", NANO // 2),
        (".5", NANO // 2),
        ("5.", 5 * NANO),
        ("+2", 2 * NANO),
        ("100m", NANO // 10),
        ("1.5Gi", 1_610_612_736 * NANO),
        ("500k", 500_000 * NANO),
        ("123Mi", 128_974_848 * NANO),
        ("128974848000m", 128_974_848 * NANO),
        ("2Ei", 2_305_843_009_213_693_952 * NANO),
        (1, NANO),
        (0.5, NANO // 2),
        (4.0, 4 * NANO),
        (1e21, 10**21 * NANO),
        (1e-7, 100),
        (-3, -3 * NANO),
        ("0" * 200 + "1", NANO),
    ],
    ids=repr,
)
def test_all_legal_forms_are_exact(written, nano):
    """Spec 11.12, case C1."""
    assert parse_quantity(written).nano == nano


@pytest.mark.parametrize(
    "written",
    [True, None, [], {}, float("nan"), float("inf"), b"1", "1\n", "1" * 300, "1e999999999"],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_quantity_is_refused(written):
    with pytest.raises(QuantityError):
        parse_quantity(written)


def test_an_error_shows_the_text():
    with pytest.raises(QuantityError, match="'4 cores' is not a quantity"):
        parse_quantity("4 cores")


@pytest.mark.parametrize("text", ["1e-999999999", "0.5e-99999999999", "1e-300"])
def test_the_smallest_quantity_is_one_nano_unit(text):
    assert parse_quantity(text).nano == 1


def test_an_exponent_of_nothing_costs_nothing():
    assert parse_quantity("0e999999999").nano == 0


def test_more_than_exa_keeps_its_zeros():
    # Kubernetes itself prints 1000E as 1.
    assert str(parse_quantity("1000E")) == "1000E"


@pytest.mark.parametrize(
    ("one", "other"), [("1.5G", "1500M"), ("1000m", "1"), ("1024Mi", "1Gi"), ("1e3", "1k")]
)
def test_equal_values_are_equal_however_written(one, other):
    assert parse_quantity(one) == parse_quantity(other)
    assert hash(parse_quantity(one)) == hash(parse_quantity(other))


nanos = st.one_of(
    st.integers(-(10**30), 10**30),
    st.builds(lambda a, b: a * 10**b, st.integers(-9999, 9999), st.integers(0, 27)),
    st.builds(lambda a, b: a * 1024**b * NANO, st.integers(-8191, 8191), st.integers(0, 5)),
)


@given(nanos, st.sampled_from(Format))
def test_what_is_printed_reads_as_the_same_number(nano, form):
    assert parse_quantity(str(Quantity(nano, form))).nano == nano


@given(nanos, st.sampled_from([Format.DECIMAL, Format.EXPONENT]))
def test_canonical_form_is_a_fixed_point(nano, form):
    printed = str(Quantity(nano, form))
    assume(not printed.endswith("000E"))
    assert str(parse_quantity(printed)) == printed


@given(st.from_regex(r"[+-]?[0-9]{0,9}\.?[0-9]{0,3}([numkMGTPE]|[KMGTPE]i)?", fullmatch=True))
def test_what_looks_like_a_quantity_is_one_and_reads_again(text):
    assume(text)
    quantity = parse_quantity(text)
    assert parse_quantity(str(quantity)) == quantity


@given(st.text(st.characters(exclude_characters="0123456789numkKMGTPEie+-."), min_size=1))
def test_other_characters_make_no_quantity(text):
    with pytest.raises(QuantityError):
        parse_quantity(text)
