"""Resources: exact integers, named or not named, printed as Kubernetes prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.resources import (
    ZERO,
    FirmLimit,
    Resources,
    amount_of,
    firm,
    format_amount,
    in_order,
    parse_exact,
    parse_resources,
    rounded_up,
    spell,
)
from kq.errors import DecodeError, QuantityError

GI = 1024**3

resources = st.builds(
    Resources.of,
    st.dictionaries(
        st.sampled_from(["cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu"]),
        st.integers(0, 2**63),
    ),
)


def test_cpu_counts_in_thousandths_and_all_else_in_units():
    parsed = parse_resources({"cpu": "1500m", "memory": "8Gi", "nvidia.com/gpu": 2}, "here")
    assert dict(parsed.items()) == {"cpu": 1500, "memory": 8 * GI, "nvidia.com/gpu": 2}


def test_each_amount_is_rounded_up():
    parsed = parse_resources({"cpu": "0.1m", "memory": "1500m", "x.y/z": "1n"}, "here")
    assert dict(parsed.items()) == {"cpu": 1, "memory": 2, "x.y/z": 1}


def test_nothing_is_rounded_before_the_sum():
    exact = parse_exact({"cpu": "0.4m"}, "here")
    assert rounded_up({name: nano * 2 for name, nano in exact.items()}).get("cpu") == 1


@pytest.mark.parametrize("absent", [None, {}], ids=["null", "empty"])
def test_an_absent_list_names_nothing(absent):
    assert parse_resources(absent, "here") == ZERO


def test_a_null_quantity_is_nought_as_in_kubernetes():
    assert parse_resources({"cpu": None}, "here").to_wire() == {"cpu": "0"}


@pytest.mark.parametrize(
    ("listed", "error", "message"),
    [
        ({"cpu": "4x"}, QuantityError, "cpu in requests of container a is 4x, not a quantity"),
        (
            {"cpu": "-4"},
            DecodeError,
            "cpu in requests of container a is -4, not a quantity of 0 or more",
        ),
        (
            {"memory": True},
            QuantityError,
            "memory in requests of container a is True, not a quantity",
        ),
        (["cpu"], DecodeError, r"requests of container a is \['cpu'\], not a map of quantities"),
    ],
    ids=["unparsable", "negative", "no number", "no map"],
)
def test_an_error_names_resource_place_and_value(listed, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        parse_resources(listed, "requests of container a")


def test_equal_amounts_are_one_object():
    assert Resources.of({"cpu": 1, "memory": 2}) is Resources.of({"memory": 2, "cpu": 1})


def test_equality_is_by_numbers_not_by_spelling():
    one = parse_resources({"cpu": "1000m", "memory": "1024Mi"}, "here")
    other = parse_resources({"memory": "1Gi", "cpu": 1}, "there")
    assert one == other
    assert hash(one) == hash(other)


def test_a_limit_of_nothing_is_not_no_limit():
    assert Resources.of({"cpu": 0}) != ZERO
    assert "cpu" in Resources.of({"cpu": 0})
    assert Resources.of({"cpu": 0}).is_zero
    assert not Resources.of({"cpu": 0, "memory": 1}).is_zero


def test_resources_are_nothing_but_equal_to_resources():
    assert Resources.of({"cpu": 1}) != {"cpu": 1}


def test_a_value_cannot_be_changed():
    with pytest.raises(AttributeError):
        Resources.of({"cpu": 1})._amounts = {}


def test_amounts_are_read_by_name():
    two = Resources.of({"cpu": 1, "memory": 2})
    assert (two["cpu"], two.get("memory"), two.get("pods"), two.get("pods", 7)) == (1, 2, 0, 7)
    assert (sorted(two), len(two)) == (["cpu", "memory"], 2)


def test_it_shows_itself_in_canonical_form():
    assert repr(Resources.of({"memory": GI, "cpu": 500})) == "Resources(cpu=500m, memory=1Gi)"


def test_sum_difference_product_and_maximum():
    one, other = Resources.of({"cpu": 3, "memory": 5}), Resources.of({"cpu": 4, "pods": 1})
    assert one + other == Resources.of({"cpu": 7, "memory": 5, "pods": 1})
    assert one - other == Resources.of({"cpu": -1, "memory": 5, "pods": -1})
    assert one.times(2) == Resources.of({"cpu": 6, "memory": 10})
    assert one.maximum(other) == Resources.of({"cpu": 4, "memory": 5, "pods": 1})


@given(resources, resources)
def test_addition_has_no_order_and_is_undone_by_subtraction(one, other):
    assert one + other == other + one
    assert all((one + other - other).get(name) == one[name] for name in one)


@given(resources, st.integers(0, 50))
def test_times_is_repeated_addition(one, count):
    total = ZERO
    for _ in range(count):
        total += one
    assert (one.times(count) == total) or (count == 0 and one.times(0).is_zero)


@given(resources, resources)
def test_the_maximum_is_the_least_that_covers_both(one, other):
    largest = one.maximum(other)
    assert largest == other.maximum(one)
    assert all(largest[name] == max(one.get(name), other.get(name)) for name in {*one, *other})


@given(resources)
def test_the_wire_form_reads_as_the_same(one):
    assert parse_resources(one.to_wire(), "here") == one


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 500, "500m"),
        ("cpu", 1_000_000, "1k"),
        ("cpu", 0, "0"),
        ("limits.cpu", 1500, "1500m"),
        ("requests.memory", 8 * GI, "8Gi"),
        ("memory", 8 * GI, "8Gi"),
        ("memory", 5_000_000_000, "5G"),
        ("memory", 1_500_000_000, "1500M"),
        ("memory", 3 * GI // 2, "1536Mi"),
        ("memory", 1_024_000, "1024k"),
        ("memory", 1000, "1k"),
        ("memory", 1000 * 1024**2, "1000Mi"),
        ("memory", 8_589_934_593, "8589934593"),
        ("ephemeral-storage", GI, "1Gi"),
        ("storage", GI, "1Gi"),
        ("hugepages-2Mi", 4 * 1024**2, "4Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("nvidia.com/gpu", 1000, "1k"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("pods", 2048, "2048"),
        ("memory", -GI, "-1Gi"),
        ("memory", 2**62, "4Ei"),
        ("memory", 2**63, "9223372036854775808"),
    ],
)
def test_amounts_are_printed_as_kubernetes_prints_them(resource, amount, text):
    assert format_amount(resource, amount) == text


@given(st.sampled_from(["cpu", "memory", "pods"]), st.integers(0, 10**24))
def test_one_value_has_one_spelling(resource, nano):
    text = spell(resource, nano)
    (again,) = parse_exact({resource: text}, "here").values()
    assert again == nano
    assert amount_of(resource, again) == amount_of(resource, nano)


def test_resources_are_listed_in_the_order_of_messages():
    names = ["nvidia.com/gpu", "ephemeral-storage", "amd.com/gpu", "memory", "cpu"]
    assert in_order(names) == [
        "cpu",
        "memory",
        "ephemeral-storage",
        "amd.com/gpu",
        "nvidia.com/gpu",
    ]


def test_the_wire_lists_in_that_order():
    assert list(Resources.of({"pods": 1, "memory": 2, "cpu": 3}).to_wire()) == [
        "cpu",
        "memory",
        "pods",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("cpu", [4000], id="named"),
        pytest.param(firm("cpu"), [2000], id="named, firm"),
        pytest.param("memory", [], id="not named: no limit"),
        pytest.param(firm("memory"), [0], id="not named, firm: nothing of it"),
        pytest.param(firm("nvidia.com/gpu"), [0], id="not named, firm, of others"),
        pytest.param(firm("pods"), [], id="pods are no request"),
        pytest.param(firm("koord-queue/max-jobs"), [], id="nor are jobs"),
        pytest.param(firm("kube-queue/max-jobs"), [3], id="but where they are named"),
    ],
)
def test_a_firm_limit_names_all_that_is_firm(name, expected):
    """Spec 11.13, 13.10: what min does not name is 0 of it."""
    amounts = {"cpu": 4000, firm("cpu"): 2000, firm("kube-queue/max-jobs"): 3}
    limit = FirmLimit(amounts)
    assert [limit[each] for each in [name] if each in limit] == expected


def test_a_limit_is_raised_by_what_it_names_or_not():
    limit = FirmLimit({"cpu": 4000, firm("cpu"): 2000}).raised({"cpu": 1000, firm("memory"): GI})
    assert dict(limit.items()) == {"cpu": 5000, firm("cpu"): 2000, firm("memory"): GI}
    assert firm("pods") not in limit
    assert Resources.of({"cpu": 4000}).raised({"cpu": 500}) == Resources.of({"cpu": 4500})


def test_a_firm_amount_is_printed_in_the_unit_of_its_resource():
    assert format_amount(firm("memory"), GI) == "1Gi"
    assert format_amount(firm("cpu"), 500) == "500m"
    assert in_order([firm("memory"), firm("cpu"), "cpu", "memory"]) == [
        "cpu",
        firm("cpu"),
        "memory",
        firm("memory"),
    ]
