"""How a process is to run: addresses."""

import pytest

from kq.app.options import Address
from kq.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":8081", Address("", 8081)),
        ("0.0.0.0:0", Address("0.0.0.0", 0)),
        ("localhost:65535", Address("localhost", 65535)),
        ("[::1]:9443", Address("::1", 9443)),
        ("[::]:9443", Address("::", 9443)),
    ],
)
def test_addresses(text: str, expected: Address) -> None:
    assert Address.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "8081", "host:", "host:http", ":65536", ":-1", ":+1", ":٣", "host:1:"]
)
def test_what_is_no_address_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match="not host:port"):
        Address.parse(text)
