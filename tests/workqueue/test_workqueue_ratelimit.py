import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kq.workqueue.ratelimit import (
    FastSlow,
    ItemExponential,
    MaxOf,
    RateLimiter,
    TokenBucket,
    WithMaxWait,
    default_controller_limiter,
    default_item_based_limiter,
    per_key_limiter,
)

MS = 0.001
HOUR = 3600.0


def delays(limiter: RateLimiter, count: int, *, item: str = "one", now: float = 0) -> list[float]:
    return [limiter.delay(item, now) for _ in range(count)]


def test_exponential_delays_double_for_each_item_alone() -> None:
    limiter = ItemExponential(1 * MS, 1.0)
    assert delays(limiter, 5) == [1 * MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS]
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, 2, item="two") == [1 * MS, 2 * MS]
    assert limiter.num_requeues("two") == 2


def test_an_exponential_item_that_is_forgotten_starts_again() -> None:
    limiter = ItemExponential(1 * MS, 1.0)
    delays(limiter, 5)
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert delays(limiter, 1) == [1 * MS]


def test_a_thousand_failures_give_the_longest_delay_without_overflow() -> None:
    assert delays(ItemExponential(1 * MS, 1000.0), 1000)[-1] == 1000.0


def test_long_delays_double_like_short_ones() -> None:
    limiter = ItemExponential(60.0, 1000 * HOUR)
    assert delays(limiter, 5) == [60, 120, 240, 480, 960]
    assert delays(limiter, 1000)[-1] == 1000 * HOUR


def test_the_first_failures_are_fast_the_later_ones_slow() -> None:
    limiter = FastSlow(5 * MS, 10.0, 3)
    assert delays(limiter, 5) == [5 * MS, 5 * MS, 5 * MS, 10.0, 10.0]
    assert limiter.num_requeues("one") == 5
    assert delays(limiter, 1, item="two") == [5 * MS]
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert delays(limiter, 1) == [5 * MS]


def test_the_longest_of_several_limiters_counts_and_all_of_them_are_asked() -> None:
    limiter = MaxOf(FastSlow(5 * MS, 3.0, 3), ItemExponential(1 * MS, 1.0))
    assert delays(limiter, 5) == [5 * MS, 5 * MS, 5 * MS, 3.0, 3.0]
    assert limiter.num_requeues("one") == 5
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert delays(limiter, 1) == [5 * MS]


def test_a_longest_wait_cuts_the_delays_of_another_limiter() -> None:
    limiter = WithMaxWait(FastSlow(5 * MS, 10.0, 1), 2.0)
    assert delays(limiter, 2) == [5 * MS, 2.0]
    assert limiter.num_requeues("one") == 2
    limiter.forget("one")
    assert delays(limiter, 1) == [5 * MS]


def test_a_bucket_gives_its_burst_at_once_and_then_one_token_at_a_time() -> None:
    limiter = TokenBucket(rate=10.0, burst=100)
    assert delays(limiter, 100) == [0.0] * 100
    assert delays(limiter, 3, item="two") == pytest.approx([0.1, 0.2, 0.3])


def test_a_bucket_knows_no_items() -> None:
    limiter = TokenBucket(rate=10.0, burst=1)
    delays(limiter, 2)
    limiter.forget("one")
    assert limiter.num_requeues("one") == 0
    assert delays(limiter, 1) == pytest.approx([0.2])


def test_a_bucket_fills_with_time_up_to_its_burst() -> None:
    limiter = TokenBucket(rate=10.0, burst=2)
    assert delays(limiter, 3, now=0) == pytest.approx([0.0, 0.0, 0.1])
    assert delays(limiter, 1, now=0.2) == pytest.approx([0.0])
    assert delays(limiter, 3, now=100) == pytest.approx([0.0, 0.0, 0.1])


def test_a_bucket_is_not_emptied_by_a_clock_that_goes_back() -> None:
    limiter = TokenBucket(rate=10.0, burst=2)
    limiter.delay("one", 50)
    assert limiter.delay("one", 40) == 0.0


@settings(deadline=None)
@given(gaps=st.lists(st.floats(0, 1), max_size=60), burst=st.integers(1, 5))
def test_a_bucket_never_lets_more_through_than_its_rate(gaps: list[float], burst: int) -> None:
    limiter = TokenBucket(rate=4.0, burst=burst)
    now = 0.0
    starts = []
    for gap in gaps:
        now += gap
        starts.append(now + limiter.delay("one", now))
    for number, start in enumerate(starts):
        in_a_second = [other for other in starts[number:] if other < start + 1 - 1e-6]
        assert len(in_a_second) <= burst + 4


def test_a_key_of_ours_waits_5_ms_doubled_up_to_1000_s() -> None:
    found = delays(per_key_limiter(), 20)
    assert found[:4] == [5 * MS, 10 * MS, 20 * MS, 40 * MS]
    assert found[17] == 655.36
    assert found[18:] == [1000.0, 1000.0]


def test_many_keys_of_ours_do_not_delay_one_another() -> None:
    limiter = per_key_limiter()
    assert {limiter.delay(key, 0) for key in range(1000)} == {5 * MS}


def test_the_default_of_controllers_also_spaces_the_tries_of_all_keys() -> None:
    limiter = default_controller_limiter()
    found = [limiter.delay(key, 0) for key in range(103)]
    assert found[:100] == [5 * MS] * 100
    assert found[100:] == pytest.approx([0.1, 0.2, 0.3])
    assert limiter.num_requeues(0) == 1


def test_the_default_by_item_starts_at_1_ms() -> None:
    assert delays(default_item_based_limiter(), 21)[::20] == [1 * MS, 1000.0]
