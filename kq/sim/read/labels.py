"""Label selectors as texts, read as the server reads them."""

import re
from collections.abc import Sequence

from kq.sim.api.names import qualified_faults, value_faults
from kq.sim.api.status import ApiStatus, bad_request, invalid_value
from kq.sim.read.selectors import Operator, Requirement

_SPECIAL = frozenset("=!(),><")
_SPACE = frozenset(" \t\r\n")
_END = ""
_KEYWORDS = frozenset({"in", "notin"})
_BINARY = "in, notin, =, ==, !=, gt, lt"
_NUMBER = re.compile(r"[+-]?[0-9]+")


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The requirements of a label selector such as `a=b,c in (d,e),!f`."""
    return tuple(_Parser(_scan(text)).parse())


def _scan(text: str) -> list[str]:
    """The tokens of a label selector."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
            continue
        end = at + 1
        if text[at] not in _SPECIAL:
            while end < len(text) and text[end] not in _SPECIAL | _SPACE:
                end += 1
        elif text[at : at + 2] in ("==", "!="):
            end = at + 2
        tokens.append(text[at:end])
        at = end
    return tokens


class _Parser:
    """Reads tokens one after the other."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> list[Requirement]:
        """All requirements, up to the last token."""
        found: list[Requirement] = []
        while first := self._peek():
            if not _is_identifier(first) and first != "!":
                raise bad_request(f"found '{first}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            comma = self._next()
            if comma not in (_END, ","):
                raise bad_request(f"found '{comma}', expected: ',' or 'end of string'")
            after = self._peek()
            if comma == "," and not _is_identifier(after) and after != "!":
                raise bad_request(f"found '{after}', expected: identifier after ','")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._next()
        if not _is_identifier(key):
            raise _unparsed(f"found '{key}', expected: identifier")
        _check("<nil>", key, qualified_faults(key))
        if absent:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek() in (_END, ","):
            return Requirement(key, Operator.EXISTS)
        return self._compared(key)

    def _compared(self, key: str) -> Requirement:
        match self._next():
            case "in":
                operator, values = Operator.IN, self._values()
            case "notin":
                operator, values = Operator.NOT_IN, self._values()
            case "=" | "==":
                operator, values = Operator.EQUALS, [self._value()]
            case "!=":
                operator, values = Operator.NOT_EQUALS, [self._value()]
            case ">":
                operator, values = Operator.GREATER, [self._value()]
            case "<":
                operator, values = Operator.LESS, [self._value()]
            case other:
                raise _unparsed(f"found '{other}', expected: {_BINARY}")
        return _valid(Requirement(key, operator, tuple(sorted(set(values)))))

    def _value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        value = self._next()
        if value in _SPECIAL:
            raise _unparsed(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        if (token := self._next()) != "(":
            raise _unparsed(f"found '{token}' expected: '('")
        values: list[str] = []
        while True:
            token = self._next()
            match token:
                case ")":
                    return values or [""]
                case ",":
                    values.append("")
                case _ if token == _END or token in _SPECIAL:
                    raise _unparsed(f"found '{token}', expected: ',', ')' or identifier")
                case _:
                    values.append(token)
                    if self._peek() == ",":
                        self._next()
                    elif (after := self._peek()) != ")":
                        raise _unparsed(f"found '{after}', expected: ',' or ')'")


def _is_identifier(token: str) -> bool:
    return bool(token) and token[0] not in _SPECIAL and token not in _KEYWORDS


def _valid(requirement: Requirement) -> Requirement:
    if requirement.operator in (Operator.GREATER, Operator.LESS):
        value = requirement.values[0]
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        _check("values[0]", value, [] if _NUMBER.fullmatch(value) else [text])
        return requirement
    for index, value in enumerate(requirement.values):
        _check(f"values[{index}][{requirement.key}]", value, value_faults(value))
    return requirement


def _check(place: str, value: str, faults: Sequence[str]) -> None:
    if faults:
        raise _unparsed(invalid_value(place, value, "; ".join(faults)).text)


def _unparsed(why: str) -> ApiStatus:
    return bad_request(f"unable to parse requirement: {why}")
