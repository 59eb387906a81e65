"""Since when the manager runs with each kind is kept on the API server (spec 5.12)."""

from datetime import datetime

import pytest
from api import Api, on
from builders import INSTALL_NAMESPACE, NOW, at, stamp

from kq.core.kinds import CONFIG_MAP
from kq.kube.errors import AlreadyExists, Forbidden
from kq.reconcile.firstrun import NAME, first_runs

KEY = f"{INSTALL_NAMESPACE}/{NAME}"
KINDS = {"Job": "job"}


async def run(api: Api, kinds: dict[str, str] | None = None) -> dict[str, datetime]:
    return await first_runs(api, INSTALL_NAMESPACE, kinds or KINDS)  # type: ignore[arg-type]


def kept(api: Api, **data: str) -> None:
    meta = {"namespace": INSTALL_NAMESPACE, "name": NAME}
    api.put(CONFIG_MAP, {"metadata": meta, "data": data})


async def test_the_first_run_is_kept_with_the_servers_time() -> None:
    api = Api(clock=lambda: at(5))
    assert await run(api) == {"Job": at(5)}
    assert api.find(CONFIG_MAP, KEY)["data"] == {"job": stamp(5)}


async def test_a_later_run_reads_the_time_of_the_first_and_writes_nothing() -> None:
    api = Api(clock=lambda: at(5))
    kept(api, job=stamp(0))
    assert await run(api) == {"Job": NOW}
    assert api.writes == []


async def test_a_kind_enabled_later_gets_its_own_time() -> None:
    api = Api(clock=lambda: at(5))
    kept(api, job=stamp(0))
    assert await run(api, KINDS | {"TFJob": "tfjob"}) == {"Job": NOW, "TFJob": at(5)}
    assert api.find(CONFIG_MAP, KEY)["data"] == {"job": stamp(0), "tfjob": stamp(5)}


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
async def test_a_time_that_cannot_be_read_is_set_anew(text: str) -> None:
    api = Api(clock=lambda: at(5))
    kept(api, job=text, other="left alone")
    assert await run(api) == {"Job": at(5)}
    assert api.find(CONFIG_MAP, KEY)["data"] == {"job": stamp(5), "other": "left alone"}


async def test_a_map_without_data_is_filled() -> None:
    api = Api(clock=lambda: at(5))
    api.put(CONFIG_MAP, {"metadata": {"namespace": INSTALL_NAMESPACE, "name": NAME}})
    assert await run(api) == {"Job": at(5)}


async def test_of_two_that_make_the_map_at_once_both_go_on() -> None:
    api = Api(clock=lambda: at(5))
    api.fail(AlreadyExists("it is there", code=409), on("create"), applied=True)
    assert await run(api) == {"Job": at(5)}


async def test_a_right_that_is_missing_is_raised() -> None:
    api = Api()
    api.fail(Forbidden("configmaps is forbidden", code=403), on("get"))
    with pytest.raises(Forbidden):
        await run(api)
