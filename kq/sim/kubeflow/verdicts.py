"""What training-operator says of a job by its roles: that it runs, has ended or failed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import condition, is_deleted, phase_of, place_of
from kq.sim.kubeflow.conditions import Conditions, Said
from kq.sim.kubeflow.replicas import EXIT_CODE, Role, index_of, of_role, spec_of
from kq.sim.kubeflow.trades import TF, WORKER, XGBOOST, Trade


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The pods of one role."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def told(self) -> dict[str, int]:
        """As a status says it: no zeros."""
        counts = {"active": self.active, "succeeded": self.succeeded, "failed": self.failed}
        return {key: value for key, value in counts.items() if value}


def count_of(pods: Sequence[Object], role: Role) -> Count:
    """A role's pods, one of each number; one that runs and is being ended counts as failed.

    That is why a job does not survive to be resumed while pods of its last run terminate.
    """
    first = {index_of(each): each for each in reversed(list(of_role(pods, role)))}
    found = [pod for index, pod in first.items() if index is not None]
    dying = [each for each in found if phase_of(each) == "Running" and is_deleted(each)]
    phases = [phase_of(each) for each in found]
    return Count(
        active=phases.count("Running") - len(dying),
        succeeded=phases.count("Succeeded"),
        failed=phases.count("Failed") + len(dying),
    )


def verdicts(
    trade: Trade,
    job: Object,
    counted: Sequence[tuple[Role, Count]],
    pods: Sequence[Object],
    before: Conditions,
) -> Iterator[Said]:
    """What is said, in that order."""
    roles = [role for role, _ in counted]
    by_name = {role.name: (role, count) for role, count in counted}
    for name in trade.roles:
        if name not in by_name:
            continue
        role, count = by_name[name]
        yield from _progress(trade, job, role, count, (roles, pods))
        if trade is not TF and name in trade.leaders and count.succeeded == role.replicas:
            return
        if count.failed:
            yield from _failure(trade, job, role, count, before)


def _progress(
    trade: Trade,
    job: Object,
    role: Role,
    count: Count,
    around: tuple[Sequence[Role], Sequence[Object]],
) -> Iterator[Said]:
    roles, pods = around
    is_led = trade.leads(roles)
    if role.name not in (trade.leaders if is_led else (WORKER,)) or (
        trade is XGBOOST and not is_led
    ):
        return
    is_done = count.succeeded == role.replicas or (
        not is_led and _ends_with_one(trade, job, count, pods)
    )
    words = _words(trade, job, is_led=is_led)
    # Without a leader it says one of the two, with one it may say both.
    if (count.active and (is_led or not is_done)) or (is_done and trade is XGBOOST):
        yield _said(trade, "Running", words["Running"])
    if is_done:
        yield _said(trade, "Succeeded", words["Succeeded"])


def _ends_with_one(trade: Trade, job: Object, count: Count, pods: Sequence[Object]) -> bool:
    """Whether the first worker's end, or any, is enough."""
    spec = spec_of(job)
    if trade is not TF:
        return trade.name == "PyTorchJob" and "elasticPolicy" in spec and count.succeeded > 0
    if spec.get("successPolicy") == "AllWorkers":
        return False
    worker = Role(name=WORKER, replicas=0, restart_policy="", template={})
    return any(
        phase_of(each) == "Succeeded" for each in of_role(pods, worker) if index_of(each) == 0
    )


def _failure(
    trade: Trade, job: Object, role: Role, count: Count, before: Conditions
) -> Iterator[Said]:
    restarting = condition(before, "Restarting")
    name = place_of(job)[1]
    why = f"because {count.failed} {role.name} replica(s) failed."
    if trade is TF:
        if restarting is not None:
            message = restarting.get("message", "")
            yield Said(type="Restarting", reason=restarting.get("reason", ""), message=message)
        elif role.name != WORKER or not spec_of(job).get("enableDynamicWorker"):
            place = "/".join(place_of(job))
            yield _said(trade, "Failed", f"{trade.name} {place} has failed {why}")
        return
    if trade is XGBOOST:
        yield _said(trade, "Running", _words(trade, job, is_led=True)["Running"])
        goes_on = role.restart_policy == EXIT_CODE
    elif role.replicas > count.succeeded + count.active:
        goes_on = role.restart_policy != "Never"
    else:
        return
    type_, verb = ("Restarting", "restarting") if goes_on else ("Failed", "failed")
    yield _said(trade, type_, f"{trade.name} {name} is {verb} {why}")


def _words(trade: Trade, job: Object, *, is_led: bool) -> Mapping[str, Any]:
    place = "/".join(place_of(job))
    if trade is TF or not is_led:
        return {
            "Running": f"{trade.name} {place} is running.",
            "Succeeded": f"{trade.name} {place} successfully completed.",
        }
    name = place_of(job)[1]
    return {
        "Running": f"{trade.name} {name} is running.",
        "Succeeded": f"{trade.name} {name} is successfully completed.",
    }


def _said(trade: Trade, type_: str, message: str) -> Said:
    return Said(type=type_, reason=f"{trade.name}{type_}", message=message)
