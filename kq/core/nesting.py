"""JSON nested more deeply than a decoder can follow, cut to a depth that it can.

The API server takes objects nested ten thousand levels, where unknown fields are kept; decoders
give up at about a thousand. Nothing that is read here lies deeper than twenty.
"""

import re

MAX_NESTING = 200
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def shallow(raw: bytes) -> bytes:
    """The JSON with null for each map and list that lies deeper than MAX_NESTING."""
    parts: list[bytes] = []
    depth = start = 0
    for token in _TOKENS.finditer(raw):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth == MAX_NESTING + 1:
                    parts.append(raw[start : token.start()])
            case b"}" | b"]":
                if depth == MAX_NESTING + 1:
                    parts.append(b"null")
                    start = token.end()
                depth -= 1
    parts.append(raw[start:])
    return b"".join(parts)
