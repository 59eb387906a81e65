"""Whether a request fits: every level, only what is asked, only what is limited (spec 11.2)."""

import pytest
from builders import amounts
from hypothesis import given
from hypothesis import strategies as st

from kq.core.messages import Reason
from kq.core.plugins import Level
from kq.core.resources import ZERO, Resources
from kq.decide.fit import shortage


def level(name="team-a", **limit):
    return Level(name, amounts(**limit), ZERO)


def in_use(**levels):
    return lambda of, resource: levels.get(of.replace("-", "_"), {}).get(resource, 0)


@pytest.mark.parametrize(
    ("chain", "request_", "used"),
    [
        pytest.param([], amounts(cpu=9), {}, id="no level at all"),
        pytest.param([level()], amounts(cpu=9), {}, id="an empty max limits nothing"),
        pytest.param([level(memory=1)], amounts(cpu=9), {}, id="what is not named is unlimited"),
        pytest.param([level(cpu=4)], amounts(cpu=4), {}, id="just"),
        pytest.param([level(cpu=4)], amounts(cpu=1), {"team_a": {"cpu": 3000}}, id="just beside"),
        pytest.param([level(cpu=0)], amounts(cpu=0), {}, id="nothing of what has none"),
        pytest.param([level(cpu=1)], amounts(), {"team_a": {"cpu": 8000}}, id="asks for nothing"),
    ],
)
def test_it_fits(chain, request_, used):
    assert shortage(chain, request_, in_use(**used)) is None


@pytest.mark.parametrize(
    ("chain", "request_", "used", "reason", "message"),
    [
        pytest.param(
            [level(cpu=4)],
            amounts(cpu=2),
            {"team_a": {"cpu": 2500}},
            Reason.WAITING,
            "waiting for quota team-a: 2 cpu requested, not enough free of 4",
            id="M1",
        ),
        pytest.param(
            [level(), level("root-a", cpu=4)],
            amounts(cpu=2),
            {"root_a": {"cpu": 3000}},
            Reason.WAITING,
            "waiting for quota root-a, ancestor of team-a: 2 cpu requested, not enough free of 4",
            id="M1 at an ancestor (case E1)",
        ),
        pytest.param(
            [level(cpu=4), level("mid", cpu=9), level("root-a", cpu=4)],
            amounts(cpu=2),
            {"root_a": {"cpu": 3000}},
            Reason.WAITING,
            "waiting for quota root-a, ancestor of team-a: 2 cpu requested, not enough free of 4",
            id="M1 three levels deep (case E1)",
        ),
        pytest.param(
            [level(cpu=4), level("root-a", cpu=4)],
            amounts(cpu=2),
            {"team_a": {"cpu": 3000}, "root_a": {"cpu": 3000}},
            Reason.WAITING,
            "waiting for quota team-a: 2 cpu requested, not enough free of 4",
            id="only the first level that lacks something is named",
        ),
        pytest.param(
            [level(cpu="500m", memory="8Gi", gpu=0)],
            amounts(gpu=1, memory="1536Mi", cpu="250m"),
            {"team_a": {"cpu": 300, "memory": 8 * 1024**3}},
            Reason.EXCEEDS,
            "cannot start: 1 gpu requested, but max of quota team-a is 0",
            id="what can never fit goes before what is used",
        ),
        pytest.param(
            [level(cpu="500m", memory="8Gi")],
            amounts(memory="1536Mi", cpu="250m"),
            {"team_a": {"cpu": 300, "memory": 8 * 1024**3}},
            Reason.WAITING,
            "waiting for quota team-a: 250m cpu requested, not enough free of 500m; "
            "1536Mi memory requested, not enough free of 8Gi",
            id="several resources, in order, as Kubernetes writes them",
        ),
        pytest.param(
            [level(cpu=4), level("root-a", cpu=2)],
            amounts(cpu=3),
            {},
            Reason.EXCEEDS,
            "cannot start: 3 cpu requested, but max of quota root-a is 2",
            id="M2 at an ancestor",
        ),
        pytest.param(
            [level(cpu=5)],
            amounts(cpu=1),
            {"team_a": {"cpu": 8000}},
            Reason.WAITING,
            "waiting for quota team-a: 1 cpu requested, not enough free of 5",
            id="max below usage (case E4)",
        ),
    ],
)
def test_what_is_short_is_told(chain, request_, used, reason, message):
    found = shortage(chain, request_, in_use(**used))
    assert found is not None
    assert (found.problem.reason, found.problem.message) == (reason, message)
    assert found.impossible == (reason is Reason.EXCEEDS)


values = st.integers(0, 4)
some = st.builds(amounts, cpu=st.none() | values, gpu=st.none() | values)


@given(some, st.lists(st.tuples(some, some), max_size=3))
def test_it_fits_where_usage_and_request_are_within_every_limit(request_, levels):
    chain = [level_of(number, limit) for number, (limit, _) in enumerate(levels)]
    used = {str(number): dict(amount.items()) for number, (_, amount) in enumerate(levels)}

    def in_use_at(name, resource):
        return used[name].get(resource, 0)

    fits = all(
        in_use_at(each.name, name) + amount <= each.limit.get(name)
        for each in chain
        for name, amount in request_.items()
        if amount and name in each.limit
    )
    assert (shortage(chain, request_, in_use_at) is None) == fits


def level_of(number, limit):
    return Level(str(number), limit, ZERO)


def test_20_3_a_limit_beside_others_of_the_quota_is_told_by_its_own_name():
    chain = [
        Level("ns/a", Resources.of({"requests.cpu@a": 4000}), ZERO, beside=True),
        Level("ns/b", Resources.of({"cpu@b": 2000, "pods@b": 1}), ZERO, beside=True),
    ]
    asked = Resources.of({"requests.cpu@a": 3000, "cpu@b": 3000, "pods@b": 2})
    assert shortage(chain, asked, in_use()).problem.message == (
        "cannot start: 3 cpu requested, but max of quota ns/b is 2; "
        "2 pods requested, but max of quota ns/b is 1"
    )
    less = Resources.of({"cpu@b": 2000, "pods@b": 1})
    used = {"cpu@b": 1000, "pods@b": 0}
    found = shortage(chain, less, lambda level, resource: used.get(resource, 0))
    assert found.problem.message == (
        "waiting for quota ns/b: 2 cpu requested, not enough free of 2"
    )
