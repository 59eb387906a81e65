from datetime import timedelta

from kq.clock import utc_now


def test_the_clock_gives_an_aware_time_in_utc() -> None:
    assert utc_now().utcoffset() == timedelta(0)


def test_the_clock_goes_forward() -> None:
    first = utc_now()
    assert utc_now() >= first
