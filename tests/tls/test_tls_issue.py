import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from kq.errors import TlsError
from kq.tls.issue import (
    Pair,
    Profile,
    authority_expiry,
    issue_ca,
    issue_serving,
    serving_expiry,
    serving_names,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMES = serving_names("q-webhook", "q-system", ["localhost", "127.0.0.1", "::1"])


def certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_names_are_those_that_an_api_server_may_call() -> None:
    assert serving_names("q-webhook", "q-system", ["localhost", "q-webhook"]) == (
        "q-webhook",
        "q-webhook.q-system",
        "q-webhook.q-system.svc",
        "q-webhook.q-system.svc.cluster.local",
        "localhost",
    )


def test_lifetimes_follow_the_profile_and_begin_an_hour_back() -> None:
    ca = issue_ca(NOW, Profile())
    serving = issue_serving(ca, NAMES, NOW, Profile())
    for pair, days in ((ca, 730), (serving, 90)):
        found = certificate(pair)
        assert found.not_valid_before_utc == NOW - timedelta(hours=1)
        assert found.not_valid_after_utc == NOW + timedelta(days=days)
        assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)
    assert authority_expiry(ca) == NOW + timedelta(days=730)
    assert serving_expiry(serving) == NOW + timedelta(days=90)


def test_a_serving_certificate_does_not_outlive_its_ca() -> None:
    ca = issue_ca(NOW - timedelta(days=700), Profile())
    assert serving_expiry(issue_serving(ca, NAMES, NOW, Profile())) == authority_expiry(ca)


def test_only_the_ca_may_sign_and_only_the_leaf_may_serve() -> None:
    ca = issue_ca(NOW, Profile())
    leaf = certificate(issue_serving(ca, NAMES, NOW, Profile()))
    signs = certificate(ca).extensions.get_extension_for_class(x509.BasicConstraints)
    serves = leaf.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (signs.value.ca, signs.critical) == (True, True)
    assert (serves.value.ca, serves.critical) == (False, True)
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    alternative = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert tuple(alternative.get_values_for_type(x509.DNSName)) == NAMES[:5]
    addresses = [str(each) for each in alternative.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1"]


def test_serials_and_names_of_cas_differ() -> None:
    first, second = issue_ca(NOW, Profile()), issue_ca(NOW + timedelta(seconds=1), Profile())
    assert certificate(first).serial_number != certificate(second).serial_number
    assert certificate(first).subject != certificate(second).subject


def test_openssl_accepts_the_chain_by_its_strict_rules(tmp_path: Path) -> None:
    now = datetime.now(UTC)  # noqa: TID251 - openssl has its own clock
    ca = issue_ca(now, Profile())
    (tmp_path / "ca.crt").write_bytes(ca.certificate)
    (tmp_path / "tls.crt").write_bytes(issue_serving(ca, NAMES, now, Profile()).certificate)
    command = "openssl verify -x509_strict -purpose sslserver -CAfile ca.crt"
    for check in ("-verify_hostname q-webhook.q-system.svc", "-verify_ip 127.0.0.1"):
        done = subprocess.run(
            [*command.split(), *check.split(), "tls.crt"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "tls.crt: OK\n"), done.stderr


def test_a_key_is_never_shown() -> None:
    ca = issue_ca(NOW, Profile())
    assert "PRIVATE" in ca.key.decode()
    assert "PRIVATE" not in repr(ca)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda ca: Pair(ca.certificate, issue_ca(NOW, Profile()).key), "does not belong"),
        (lambda ca: Pair(ca.certificate, b"x"), "ca.key holds no private key"),
        (lambda ca: Pair(b"x", ca.key), "ca.crt holds no certificate"),
    ],
    ids=["key of another", "no key", "no certificate"],
)
def test_a_broken_ca_does_not_sign(damage: object, message: str) -> None:
    broken = damage(issue_ca(NOW, Profile()))  # type: ignore[operator]
    with pytest.raises(TlsError, match=message):
        issue_serving(broken, NAMES, NOW, Profile())
    with pytest.raises(TlsError, match=message):
        authority_expiry(broken)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(TlsError, match="neither a DNS name nor an IP address"):
        issue_serving(issue_ca(NOW, Profile()), ["ü.example"], NOW, Profile())
