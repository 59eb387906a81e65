"""Questions to the server about who asks and what they may do; everybody may do everything."""

from typing import Any

from kq.core.kinds import Object
from kq.sim.api.call import Answer, Call, User, answer_of
from kq.sim.request import bodies
from kq.sim.write.rulebook import Rulebook

ALLOWED: Object = {"allowed": True, "reason": "a simulated cluster refuses nobody"}
ALL_RULES: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def answered(call: Call, rulebook: Rulebook) -> Answer:
    """The question with its answer as its status; nothing is kept."""
    sent = bodies.completed(call, rulebook.rules(call.kind), bodies.read_body(call))
    obj = {**sent.obj, "metadata": sent.obj.get("metadata") or {}}
    obj["status"] = _status(call)
    return answer_of(obj, code=201, warnings=tuple(sent.warnings))


def _status(call: Call) -> Object:
    match call.kind.kind:
        case "SelfSubjectReview":
            return {"userInfo": _user_info(call.user)}
        case "SelfSubjectRulesReview":
            return ALL_RULES
        case _:
            return ALLOWED


def _user_info(user: User) -> dict[str, Any]:
    info: dict[str, Any] = {"username": user.name, "groups": list(user.groups)}
    return {**info, "uid": user.uid} if user.uid else info
