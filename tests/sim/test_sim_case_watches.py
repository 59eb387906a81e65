"""Watches fail on the simulated cluster: cases J1, J2 and J3, for every kind that is watched.

How they fail is varied: in the stream or when they are opened, by which code, how often, how long.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import objects
import pytest
from case_news import NEWS, News, two_jobs
from sim_case import ALWAYS, TEAM, WATCHED, Case

from kq.core.kinds import ELASTIC_QUOTA, JOB, QUEUE, QUEUE_UNIT, ResourceKind
from kq.sim.faults import Asked, Matches, Trouble, on

IDLE = 150.0
"""Seconds after which a watch on which nothing came is opened anew."""
EACH_KIND = pytest.mark.parametrize("news", NEWS, ids=lambda each: each.plural)


def spread(ways: Sequence[Any]) -> list[Any]:
    """Each way with two kinds, so that each kind comes with two ways: all pairs would be many."""
    pairs = [(ways[at], NEWS[(at + far) % len(NEWS)]) for at in range(len(ways)) for far in (0, 4)]
    named = [("-".join(map(str, (news.plural, *way))), news, way) for way, news in pairs]
    return [pytest.param(news, *way, id=name) for name, news, way in named]


def often(times: int) -> list[Any]:
    """Each kind once, and every third so many times."""
    ways = [(news, 1) for news in NEWS] + [(news, times) for news in NEWS[::3]]
    return [pytest.param(news, count, id=f"{news.plural}-{count}") for news, count in ways]


def watch_of(news: News) -> Matches:
    return on("watch", news.plural)


def lists(case: Case) -> Counter[str]:
    return Counter(each.plural for each in case.asked("list"))


def may_be_listed(news: News) -> set[str]:
    """Pods of a job that went are asked for, if their watch may be behind."""
    return {news.plural, "pods"} if news.plural == "jobs" else {news.plural}


def noticed(case: Case, news: News, within: float) -> float:
    return case.until(lambda: news.is_noticed(case), f"{news.plural} are noticed", within)


def assert_as_after_a_cold_start(case: Case) -> None:
    """A manager that knows nothing sees the same, and has nothing to write."""
    case.passes(90)
    before = case.outcome()
    case.ground.run(case.simulation.kill_manager())
    case.heard.clear()
    case.ground.run(case.simulation.start_manager())
    case.passes(60)
    assert case.outcome() == before
    assert case.writes() == []


def test_news_are_of_every_kind_that_is_watched(case: Case) -> None:
    case.ground.run(case.simulation.kill_manager())
    case.ground.run(case.simulation.start_manager())
    case.passes(1)
    assert {each.plural for each in NEWS} == {each.plural for each in case.asked("watch")}
    assert {each.plural for each in NEWS} == set(WATCHED)


# -- J1


@pytest.mark.parametrize(("news", "times"), often(3))
def test_j1_expired_in_the_stream_leads_to_a_fresh_list_and_nothing_is_missed(
    case: Case, news: News, times: int
) -> None:
    news.before(case)
    case.heard.clear()
    fault = case.plan(Trouble.EXPIRED, watch_of(news), times=times * news.followers)
    news.happens(case)
    noticed(case, news, within=15.0)
    case.passes()
    assert fault.struck == times * news.followers
    assert news.plural in lists(case)
    assert set(lists(case)) <= may_be_listed(news)
    assert lists(case)[news.plural] == fault.struck
    assert_as_after_a_cold_start(case)


REFUSED = [(code,) for code in (400, 401, 403, 404, 429, 500, 502, 503, 504)]


@pytest.mark.parametrize(("news", "code"), spread(REFUSED))
def test_j1_a_watch_that_is_refused_when_it_is_opened_again_is_made_up_for(
    case: Case, news: News, code: int
) -> None:
    news.before(case)
    trouble = Trouble.BUSY if code == 429 else Trouble.FAILED
    case.plan(Trouble.DROPPED, watch_of(news), times=news.followers)
    case.plan(trouble, watch_of(news), times=2 * news.followers, code=code)
    news.happens(case)
    # A kind that is optional is looked for again each minute after a 404.
    noticed(case, news, within=130.0 if code == 404 else 20.0)


LISTS = [
    (Trouble.FAILED, 403),
    (Trouble.FAILED, 410),
    (Trouble.FAILED, 500),
    (Trouble.FAILED, 502),
    (Trouble.FAILED, 504),
    (Trouble.BUSY, 429),
    (Trouble.UNSENT, 0),
    (Trouble.LOST, 0),
    (Trouble.GARBLED, 0),
]


@pytest.mark.parametrize(("news", "trouble", "code"), spread(LISTS))
def test_j1_j2_a_list_that_fails_after_an_expiry_is_never_taken_for_whole(
    case: Case, news: News, trouble: Trouble, code: int
) -> None:
    news.before(case)
    before = case.outcome()
    case.plan(Trouble.EXPIRED, watch_of(news), times=news.followers)
    case.plan(trouble, on("list", news.plural), times=3 * news.followers, code=code)
    news.happens(case)
    noticed(case, news, within=40.0)
    lost = before["units"].keys() - case.outcome()["units"].keys()
    assert lost <= {"first"}


@EACH_KIND
@pytest.mark.parametrize(
    "trouble", [Trouble.GARBLED, Trouble.DROPPED, Trouble.LATE], ids=lambda each: each.value
)
def test_what_a_broken_line_was_to_tell_is_not_missed(
    case: Case, news: News, trouble: Trouble
) -> None:
    news.before(case)
    case.heard.clear()
    case.plan(trouble, watch_of(news), times=news.followers, seconds=5.0)
    news.happens(case)
    noticed(case, news, within=10.0)
    # What was late or broke off is shown again; only what is in pieces has to be listed.
    if trouble is not Trouble.GARBLED:
        assert news.plural not in lists(case)
    assert set(lists(case)) <= may_be_listed(news)


def test_j1_a_server_that_forgets_all_the_time_is_not_asked_for_everything_all_the_time(
    case: Case,
) -> None:
    two_jobs(case)
    case.heard.clear()
    case.plan(Trouble.EXPIRED, lambda asked: asked.verb == "watch", times=ALWAYS)
    case.passes(600)
    assert max(lists(case).values()) <= 40
    case.faults.end()
    case.world.delete_job("first")
    case.until(lambda: case.phases().get("second") == "Running", "the second runs", 70.0)


# -- J2


@EACH_KIND
@pytest.mark.parametrize(
    ("seconds", "forgets"),
    [(13.0, True), (30.0, False), (400.0, True)],
    ids=["13 s, forgotten", "30 s", "400 s, forgotten"],
)
def test_j2_what_happened_while_disconnected_is_made_up_for(
    case: Case, news: News, seconds: float, forgets: bool
) -> None:
    news.before(case)
    case.plan(Trouble.DROPPED, watch_of(news), times=news.followers)
    ends = case.now + seconds

    def is_cut(asked: Asked) -> bool:
        ours = asked.verb in ("list", "watch") and asked.plural == news.plural
        return ours and case.now < ends

    case.plan(Trouble.UNREACHABLE, is_cut, times=ALWAYS)
    news.happens(case)
    if forgets:
        case.storage.compact()
    case.passes(max(0.0, ends - case.now))
    noticed(case, news, within=61.0)
    assert_as_after_a_cold_start(case)


@pytest.mark.parametrize("seconds", [3.0, 60.0, 900.0], ids=str)
def test_j2_cut_off_altogether_while_jobs_come_and_end_and_go(case: Case, seconds: float) -> None:
    """The network between kq and the API server fails; everybody else goes on."""
    quota = case.world.quota("a", cpu=2)
    case.world.job("ends", quota, cpu=1, run_for=f"{2.5 + seconds / 2}s")
    case.world.job("deleted", quota, cpu=1)
    case.world.wait_phase("ends", "Running")
    case.world.wait_phase("deleted", "Running")
    case.world.job("waits", quota, cpu=1)
    case.world.job("given-up", quota, cpu=1)
    case.passes(1)
    ends = case.now + seconds
    case.plan(Trouble.UNREACHABLE, lambda asked: case.now < ends, times=ALWAYS)
    case.plan(Trouble.DROPPED, lambda asked: asked.verb == "watch" and case.now < ends, times=9)
    case.world.delete_job("deleted")
    case.world.delete_job("given-up")
    case.world.job("new", quota, cpu=1)
    case.passes(seconds)
    expected = {"ends": "Succeed", "waits": "Running", "new": "Running"}
    case.until(lambda: case.phases() == expected, "all is made up for", 62.0 + 2 * seconds)
    assert_as_after_a_cold_start(case)


# -- J3


@pytest.mark.parametrize(("news", "times"), often(2))
def test_j3_a_silent_watch_is_opened_again_in_time(case: Case, news: News, times: int) -> None:
    news.before(case)
    case.heard.clear()
    fault = case.plan(Trouble.STALLED, watch_of(news), times=times * news.followers)
    news.happens(case)
    case.passes(100)
    assert not news.is_noticed(case)
    took = 100 + noticed(case, news, within=times * (IDLE + 5) - 100)
    assert took > times * IDLE - 60
    assert fault.struck == times * news.followers
    assert set(lists(case)) <= may_be_listed(news) - {news.plural}


def test_j3_all_watches_silent_at_once(case: Case) -> None:
    two_jobs(case)
    ends = case.now + 130.0
    case.plan(
        Trouble.STALLED, lambda asked: asked.verb == "watch" and case.now < ends, times=ALWAYS
    )
    case.world.delete_job("first")
    case.world.submit(case.world.manifest("third", case.world.name_of("a"), cpu=1))
    case.until(lambda: case.phases().get("second") == "Running", "the second runs", IDLE + 70)
    case.until(lambda: "not enough" in case.message("third"), "the third waits", 10)
    assert_as_after_a_cold_start(case)


def test_j3_a_slow_api_server_delays_and_changes_nothing(case: Case) -> None:
    """Every request takes four seconds, a watch four seconds to open."""
    case.plan(Trouble.SLOW, times=ALWAYS, seconds=4.0)
    quota = case.world.quota("a", cpu=2)
    for name in ("first", "second", "third"):
        case.world.job(name, quota, cpu=1, run_for="1s")
    case.world.ground.until(lambda: len(case.all(JOB)) == 3, "all are there")
    case.until(
        lambda: case.phases() == dict.fromkeys(("first", "second", "third"), "Succeed"),
        "all have ended",
        120.0,
    )
    assert max(case.onlooker.grants.values()) == 1


# -- neighbours: the kind itself goes


CRD = ResourceKind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


@pytest.mark.parametrize("kind", [ELASTIC_QUOTA, QUEUE, QUEUE_UNIT], ids=lambda each: each.plural)
def test_a_kind_that_is_removed_and_installed_again_lets_nobody_in_and_is_taken_up(
    case: Case, kind: ResourceKind
) -> None:
    two_jobs(case)
    name, quota = f"{kind.plural}.{kind.group}", case.world.name_of("a")
    crd = case.ground.read(CRD, "", name)
    assert crd is not None
    case.ground.delete(CRD, "", name)
    case.heard.clear()
    case.passes(70)
    case.world.job("third", quota, cpu=1)
    case.passes(5)
    # 5 ms, doubled each time.
    assert len(case.writes()) <= 40
    case.ground.create(CRD, {"metadata": {"name": name}, "spec": crd["spec"]})
    case.passes(1)
    if kind is ELASTIC_QUOTA:
        case.ground.create(ELASTIC_QUOTA, objects.elastic_quota(quota, TEAM, {"cpu": 2}))
    case.passes(130)
    waiting = dict.fromkeys(("second", "third"), "Enqueued")
    assert case.phases() == {"first": "Running", **waiting}
    case.world.delete_job("first")
    case.until(lambda: case.phases().get("second") == "Running", "the second runs", 5.0)
