"""The controller of SparkApplications."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    PODS,
    is_active,
    is_deleted,
    is_ended,
    phase_of,
    place_of,
    time_of,
    uid_of,
)
from kq.sim.control.view import Happened, Seen, View
from kq.sim.control.writes import Delete, Plan, Replace, is_written, taken
from kq.sim.spark import states as told
from kq.sim.spark.pods import APPLICATION, driver_name, driver_of, executors_of
from kq.sim.spark.states import Moment, State

SPARK_APPLICATIONS: Final = "sparkapplications.sparkoperator.k8s.io"


class SparkController:
    """Looks after SparkApplications, their drivers, and the executors of these."""

    name = "spark-operator"
    pace = Pace(first=1.0, longest=60.0)
    kinds: tuple[str, ...] = (SPARK_APPLICATIONS, PODS)

    def __init__(self) -> None:
        self._changed: set[str] = set()

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """An application, and pods that are labelled as its own."""
        newest = happened.newest
        if happened.kind == SPARK_APPLICATIONS:
            if happened.after is None:
                self._changed.discard(uid_of(newest))
            elif happened.before is not None and _is_other(happened.before, newest):
                self._changed.add(uid_of(newest))
            return [Due(Key(*place_of(newest)))]
        name = (newest["metadata"].get("labels") or {}).get(APPLICATION)
        return [Due(Key(place_of(newest)[0], name))] if name else []

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """What its state asks for, then the state that follows."""
        app = view.get(SPARK_APPLICATIONS, key.namespace, key.name)
        if app is None or is_deleted(app):
            return None
        driver = view.get(PODS, key.namespace, driver_name(app))
        executors = view.owned_of(PODS, uid_of(driver)) if driver is not None else []
        moment = Moment(app=app, driver=driver, executors=executors)
        if uid_of(app) in self._changed:
            self._changed.discard(uid_of(app))
            if moment.state not in (State.NEW, State.INVALIDATING):
                return (yield from _say(moment, told.moved(moment, State.INVALIDATING)))
        return (yield from STEPS[moment.state](moment, now))


def _is_other(before: Seen, after: Seen) -> bool:
    """Whether more of the spec changed than its suspension."""
    old, new = ({**each["spec"], "suspend": None} for each in (before, after))
    return old != new


def _begin(moment: Moment, now: datetime) -> Plan:
    if moment.is_suspended:
        return (yield from _say(moment, told.moved(moment, State.SUSPENDING)))
    if moment.driver is not None:
        # One of before has the name.
        return None
    outcomes = yield [driver_of(moment.app)]
    [outcome] = outcomes
    if isinstance(outcome, ApiStatus):
        return (yield from _say(moment, told.not_submitted(moment, outcome.message, now)))
    return (yield from _say(moment, told.submitted(moment, now)))


def _watch(moment: Moment, now: datetime) -> Plan:
    """The driver's own state, once it is submitted; what runs has executors."""
    driver = moment.driver
    if moment.is_suspended:
        return (yield from _say(moment, told.moved(moment, State.SUSPENDING)))
    if driver is None:
        return (yield from _say(moment, told.failing(moment, "driver pod not found", now)))
    if is_ended(driver):
        return (yield from _say(moment, told.over(moment, now)))
    if phase_of(driver) != "Running" or is_deleted(driver):
        return None
    if not moment.executors:
        outcomes = yield executors_of(moment.app, driver)
        if not all(map(is_written, outcomes)):
            taken(outcomes)
    return (yield from _say(moment, told.running(moment)))


def _stop(moment: Moment, now: datetime) -> Plan:
    """The driver is deleted; whether it is gone is not looked at."""
    yield from _delete([moment.driver] if moment.driver is not None else [])
    return (yield from _say(moment, told.stopped(moment)))


def _invalidate(moment: Moment, now: datetime) -> Plan:
    yield from _delete([moment.driver] if moment.driver is not None else [])
    state = State.SUSPENDING if moment.is_suspended else State.PENDING_RERUN
    return (yield from _say(moment, told.anew(moment, state)))


def _resume(moment: Moment, now: datetime) -> Plan:
    """Waits until the old driver is gone, not for its executors."""
    if moment.is_suspended or moment.driver is not None:
        return None
    return (yield from _say(moment, told.moved(moment, State.RESUMING)))


def _conclude(moment: Moment, now: datetime) -> Plan:
    """The end, or another try; a driver that ends has ended its executors."""
    yield from _delete([each for each in moment.executors if is_active(each)])
    wait = told.retry_after(moment, now)
    if wait is None:
        end = State.COMPLETED if moment.state is State.SUCCEEDING else State.FAILED
        return (yield from _say(moment, told.moved(moment, end)))
    if wait > timedelta(0):
        return wait
    yield from _delete([moment.driver] if moment.driver is not None else [])
    return (yield from _say(moment, told.again(moment)))


def _rest(moment: Moment, now: datetime) -> Plan:
    seconds = moment.app["spec"].get("timeToLiveSeconds")
    ended = time_of(moment.status.get("terminationTime"))
    if not seconds:
        return None
    left = ended + timedelta(seconds=seconds) - now
    if left > timedelta(0):
        return left
    namespace, name = place_of(moment.app)
    taken((yield [Delete(kind=SPARK_APPLICATIONS, namespace=namespace, name=name)]))
    return None


def _delete(pods: Sequence[Object]) -> Plan:
    going = [each for each in pods if not is_deleted(each)]
    outcomes = yield [_deletion(each) for each in going]
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None


def _deletion(pod: Object) -> Delete:
    namespace, name = place_of(pod)
    return Delete(kind=PODS, namespace=namespace, name=name, uid=uid_of(pod))


def _say(moment: Moment, status: Object) -> Plan:
    if status != moment.status:
        body = {**moment.app, "status": dict(status)}
        taken((yield [Replace(kind=SPARK_APPLICATIONS, body=body, subresource="status")]))
    return None


STEPS: Mapping[State, Callable[[Moment, datetime], Plan]] = {
    State.NEW: _begin,
    State.SUBMITTED: _watch,
    State.RUNNING: _watch,
    State.SUSPENDING: _stop,
    State.SUSPENDED: _resume,
    State.RESUMING: _begin,
    State.INVALIDATING: _invalidate,
    State.PENDING_RERUN: _begin,
    State.SUBMISSION_FAILED: _conclude,
    State.SUCCEEDING: _conclude,
    State.FAILING: _conclude,
    State.COMPLETED: _rest,
    State.FAILED: _rest,
}
"""What is done in a state."""
