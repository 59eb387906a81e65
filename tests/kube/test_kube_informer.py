"""The informer: whole lists, real differences, handlers, kinds that come and go."""

import asyncio
from typing import Any

import pytest
from fake_api import FakeApi, answer, event, hang_up, names, stream, text, until
from follow import View, disconnected, following, is_list, is_second_page, is_watch

from kq.core.kinds import JOB, ResourceKind
from kq.kube.client import Client
from kq.kube.replica import Change
from kq.kube.watch import VERY_SHORT

pytestmark = pytest.mark.looptime


async def test_a_list_comes_in_pages_and_the_watch_starts_at_its_version(
    api: FakeApi, client: Client
) -> None:
    for name in "abcde":
        api.put("jobs", name)
    async with following(client, page_limit=2) as seen:
        assert names(seen.informer.lister.values()) == list("abcde")
        assert seen.told == ["=a", "=b", "=c", "=d", "=e"]
        await until(api.watches)
        assert [s.query["limit"] for s in api.lists()] == ["2", "2", "2"]
        assert all("resourceVersion" not in s.query for s in api.lists())
        assert api.watches()[0].query["resourceVersion"] == "105"


async def test_it_is_not_synced_before_the_last_page(api: FakeApi, client: Client) -> None:
    for name in "abc":
        api.put("jobs", name)
    held = asyncio.Event()

    async def hold(request: Any) -> Any:
        await held.wait()
        return await api.dispatch(request, api.seen[-1])

    api.fail(hold, on=is_second_page)
    async with following(client, synced=False, page_limit=2) as seen:
        await until(lambda: seen.told == ["=a", "=b"])
        assert not seen.informer.synced
        held.set()
        await seen.informer.wait_synced()
        assert seen.told == ["=a", "=b", "=c"]


async def test_events_are_told_in_the_servers_order(api: FakeApi, client: Client) -> None:
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.put("jobs", "a", spec={"size": 1})
        api.put("jobs", "a", spec={"size": 2})
        api.put("jobs", "b")
        api.remove("jobs", "a")
        await until(lambda: len(seen.told) == 4)
        assert seen.told == ["+a", "a 1->2", "+b", "-a"]
        assert names(seen.informer.lister.values()) == ["b"]


async def test_a_list_whose_token_expires_is_taken_anew_in_one_piece(
    api: FakeApi, client: Client
) -> None:
    for name in "abc":
        api.put("jobs", name)
    api.fail(answer(410, "Expired"), on=is_second_page)
    async with following(client, page_limit=2) as seen:
        assert "limit" not in api.lists()[-1].query
        assert len(api.lists()) == 3
        assert seen.told == ["=a", "=b", "=c"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(hang_up, id="connection lost"),
        pytest.param(text(500, "<html>oops</html>"), id="html 500"),
        pytest.param(text(200, "<html>log in</html>"), id="html 200"),
        pytest.param(answer(200), id="a status instead of a list"),
    ],
)
async def test_a_list_that_breaks_in_the_middle_is_never_taken_for_whole(
    api: FakeApi, client: Client, fault: Any
) -> None:
    for name in "abcd":
        api.put("jobs", name)
    async with following(client, page_limit=2) as seen:
        await until(lambda: api.watchers)
        api.fail(answer(410, "Expired"), on=is_watch)
        # Twice: aiohttp itself sends a GET again whose kept-alive connection was just closed.
        api.fail(fault, times=2, on=is_second_page)
        api.end_watches()
        await until(lambda: api.faults[-1].times == 0 and api.watchers, 60)
        assert names(seen.informer.lister.values()) == list("abcd")
        assert seen.told == ["=a", "=b", "=c", "=d"]


async def test_after_a_relist_only_real_differences_are_told(api: FakeApi, client: Client) -> None:
    for name in "abc":
        api.put("jobs", name)
    async with following(client) as seen:
        async with disconnected(api, seen):
            api.put("jobs", "b", spec={"size": 9})
            api.remove("jobs", "c")
            api.put("jobs", "d")
        assert seen.told == ["b 0->9", "+d", "-c"]


async def test_one_that_was_made_again_under_its_name_goes_and_comes(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a", spec={"size": 1})
    async with following(client) as seen:
        async with disconnected(api, seen):
            api.remove("jobs", "a")
            api.put("jobs", "a", metadata={"uid": "another"})
        assert seen.told == ["-a", "+a"]
        view = seen.informer.lister.get("ns", "a")
        assert view is not None
        assert view.uid == "another"


async def test_the_word_that_another_object_of_that_name_went_is_ignored(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        meta = {"name": "a", "namespace": "ns", "uid": "older", "resourceVersion": "500"}
        api.send(event("DELETED", {"kind": "Job", "metadata": meta}))
        api.put("jobs", "b")
        await until(lambda: "+b" in seen.told)
        assert seen.told == ["=a", "+b"]


async def test_one_bad_object_does_not_spoil_the_list(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a")
    api.put("jobs", "b", spec={"size": "big"})
    api.put("jobs", "c", metadata={"uid": 7})
    api.put("jobs", "d")
    async with following(client) as seen:
        assert seen.told == ["=a", "=d"]
        assert seen.metrics.dropped == 2


async def test_a_known_object_that_becomes_unreadable_stays_as_it_was(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a", spec={"size": 1})
    async with following(client) as seen:
        async with disconnected(api, seen):
            api.put("jobs", "a", spec={"size": "big"})
        assert seen.told == []
        view = seen.informer.lister.get("ns", "a")
        assert view is not None
        assert view.size == 1


async def test_a_foreign_object_is_not_kept_and_one_that_becomes_foreign_goes(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a", spec={"foreign": True})
    api.put("jobs", "b")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        api.put("jobs", "b", spec={"foreign": True})
        await until(lambda: "-b" in seen.told)
        assert seen.told == ["=b", "-b"]
        assert len(seen.informer.lister) == 0


async def test_a_handler_that_raises_does_not_keep_the_change_from_others(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")

    def broken(_: Change[View]) -> None:
        raise RuntimeError("broken handler")

    async with following(client, synced=False) as seen:
        seen.informer._handlers.insert(0, broken)
        await seen.informer.wait_synced()
        await until(lambda: api.watchers)
        api.put("jobs", "b")
        await until(lambda: "+b" in seen.told)
        assert seen.told == ["=a", "+b"]
        assert seen.metrics.failed == 2


async def test_a_late_handler_is_told_all_that_is_there(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        late: list[Change[View]] = []
        seen.informer.add_handler(late.append)
        assert [(c.old, c.new and c.new.name, c.initial) for c in late] == [(None, "a", True)]


async def test_indexes_follow_a_changed_value(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a", spec={"size": 1})
    async with following(client, indexes={"size": lambda view: [str(view.size)]}) as seen:
        await until(lambda: api.watchers)
        api.put("jobs", "a", spec={"size": 2})
        await until(lambda: len(seen.told) == 2)
        assert seen.informer.lister.by_index("size", "1") == []
        assert names(seen.informer.lister.by_index("size", "2")) == ["a"]


async def test_a_kind_that_is_not_served_is_looked_for_soon_and_then_each_minute(
    api: FakeApi, client: Client
) -> None:
    api.absent.add("jobs")
    async with following(client, optional=True) as seen:
        assert seen.informer.synced
        assert not seen.informer.available
        await until(lambda: len(api.lists()) == 8, 190)
        looks = [round(s.at - api.lists()[0].at) for s in api.lists()]
        assert looks == [0, 2, 6, 14, 30, 62, 122, 182]
        assert seen.informer.healthy
        api.absent.clear()
        api.put("jobs", "a")
        await until(lambda: seen.informer.available and api.watchers, 70)
        assert seen.told == ["=a"]
        assert seen.metrics.availability[-1]


async def test_a_kind_that_goes_away_is_looked_for_soon_again(api: FakeApi, client: Client) -> None:
    api.absent.add("jobs")
    async with following(client, optional=True) as seen:
        await until(lambda: len(api.lists()) == 7, 130)
        api.absent.clear()
        await until(lambda: seen.informer.available and api.watchers, 70)
        api.absent.add("jobs")
        api.end_watches()
        await until(lambda: not seen.informer.available, 10)
        api.absent.clear()
        await until(lambda: seen.informer.available, 3)


async def test_a_kind_that_went_away_is_told_as_gone_only_when_its_end_is_certain(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client, optional=True) as seen:
        await until(lambda: api.watchers)
        api.absent.add("jobs")
        api.end_watches()
        await until(lambda: not seen.informer.available, 10)
        assert seen.told == ["=a"]
        seen.informer.forget_all()
        assert seen.told == ["=a", "-a"]


async def test_what_was_forgotten_while_the_kind_is_served_is_listed_anew(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        seen.informer.forget_all()
        api.put("jobs", "b")
        await until(lambda: len(seen.informer.lister) == 2)
        assert seen.told == ["=a", "-a", "+a", "+b"]


async def test_what_was_forgotten_before_a_watch_ended_is_listed_anew(
    api: FakeApi, client: Client
) -> None:
    api.put("jobs", "a")
    async with following(client) as seen:
        await until(lambda: api.watchers)
        seen.informer.forget_all()
        api.end_watches()
        await until(lambda: len(seen.informer.lister) == 1)
        assert seen.told == ["=a", "-a", "+a"]


async def test_a_list_during_which_all_was_forgotten_is_taken_anew(
    api: FakeApi, client: Client
) -> None:
    for name in "abc":
        api.put("jobs", name)
    async with following(client, synced=False, page_limit=2) as seen:

        async def forget(request: Any) -> Any:
            seen.informer.forget_all()
            return await api.dispatch(request, api.seen[-1])

        api.fail(forget, on=is_second_page)
        await seen.informer.wait_synced()
        assert names(seen.informer.lister.values()) == list("abc")


async def test_a_kind_that_must_be_there_is_tried_with_pauses(api: FakeApi, client: Client) -> None:
    api.absent.add("jobs")
    async with following(client, synced=False) as seen:
        await until(lambda: len(api.lists()) == 4, 60)
        assert not seen.informer.synced
        assert not seen.informer.healthy
        api.absent.clear()
        await until(lambda: seen.informer.synced, 60)


@pytest.mark.parametrize("moment", ["list", "watch", "pause"])
async def test_it_stops_promptly_and_leaves_no_connection(
    api: FakeApi, client: Client, moment: str
) -> None:
    if moment == "list":
        api.fail(stream(then=1000), on=is_list)
    if moment == "pause":
        api.fail(answer(403), times=99)
    clock = asyncio.get_running_loop().time
    async with following(client, synced=False):
        await until(lambda: api.watchers if moment == "watch" else api.seen)
        await asyncio.sleep(0.3)
        leaving = clock()
    assert clock() - leaving < 0.1
    await until(lambda: api.in_flight == 0)


async def test_a_selector_and_a_namespace_reach_list_and_watch(
    api: FakeApi, client: Client
) -> None:
    options = {"namespace": "ns", "label_selector": "a=b", "field_selector": "c=d"}
    async with following(client, **options):
        await until(lambda: api.watchers)
        for seen in api.seen:
            assert seen.path == "/apis/batch/v1/namespaces/ns/jobs"
            assert seen.query["labelSelector"] == "a=b"
            assert seen.query["fieldSelector"] == "c=d"


V1 = ResourceKind("batch", "v1", "Job", "oldjobs")


async def test_the_first_version_that_is_served_is_followed(api: FakeApi, client: Client) -> None:
    """Spec 4.7, 8.1."""
    api.absent.add("jobs")
    api.put("oldjobs", "a")
    async with following(client, optional=True, versions=[JOB, V1]) as seen:
        await until(lambda: seen.told == ["=a"])
        assert seen.informer.kind == V1
        assert seen.informer.available


async def test_a_kind_that_changes_its_version_often_is_found_soon_each_time(
    api: FakeApi, client: Client
) -> None:
    """Whoever installs operators again and again waits no longer each time (spec 4.7)."""
    api.absent.add("oldjobs")
    async with following(client, optional=True, versions=[JOB, V1]) as seen:
        for gone, served in [(JOB, V1), (V1, JOB)] * 5:
            await until(lambda: api.watchers)
            await asyncio.sleep(VERY_SHORT)
            api.absent = {gone.plural}
            api.end_watches()
            await until(lambda kind=served: seen.informer.kind == kind and api.watchers, 3)
            assert seen.informer.available


async def test_a_kind_that_was_removed_is_told_as_gone_and_found_again(
    api: FakeApi, client: Client
) -> None:
    """Spec 4.7."""
    removed: list[ResourceKind] = []

    async def is_removed(kind: ResourceKind) -> bool:
        removed.append(kind)
        return True

    api.put("jobs", "a")
    async with following(client, optional=True, is_removed=is_removed) as seen:
        await until(lambda: api.watchers)
        api.absent.add("jobs")
        api.end_watches()
        await until(lambda: seen.told == ["=a", "-a"], 10)
        assert removed == [JOB]
        api.absent.clear()
        await until(lambda: seen.told[2:] == ["+a"], 70)


async def test_an_absent_kind_without_objects_is_not_asked_about(
    api: FakeApi, client: Client
) -> None:
    async def is_removed(kind: ResourceKind) -> bool:
        raise AssertionError(kind)

    api.absent.add("jobs")
    async with following(client, optional=True, is_removed=is_removed) as seen:
        assert not seen.informer.available
