"""A certificate authority and serving pairs of it, as PEM (spec 17.1)."""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kq.errors import TlsError

CLUSTER_DOMAIN = "cluster.local"
MAX_COMMON_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How long certificates live, and how far back they begin, for clocks that are behind."""

    ca_lifetime: timedelta = timedelta(days=730)
    serving_lifetime: timedelta = timedelta(days=90)
    backdate: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def serving_names(service: str, namespace: str, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """The names by which a Service is called, then the extra DNS names and IP addresses."""
    qualified = f"{service}.{namespace}"
    names = (service, qualified, f"{qualified}.svc", f"{qualified}.svc.{CLUSTER_DOMAIN}", *extra)
    return tuple(dict.fromkeys(names))


def issue_ca(now: datetime, profile: Profile) -> Pair:
    """A new certificate authority that may sign serving certificates and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    # Each generation has a name of its own: chains build right while two of them are trusted.
    name = _name(f"koord-queue webhook CA {now:%Y%m%d%H%M%S}")
    builder = (
        _builder(key, now - profile.backdate, now + profile.ca_lifetime)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue_serving(ca: Pair, names: Sequence[str], now: datetime, profile: Profile) -> Pair:
    """A serving pair for these names, signed by the CA and never outliving it."""
    authority, ca_key = _load_authority(ca)
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + profile.serving_lifetime, authority.not_valid_after_utc)
    builder = (
        _builder(key, now - profile.backdate, until)
        .subject_name(_name(names[0]))
        .issuer_name(authority.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), False)
        .add_extension(_issuer_key_id(authority), critical=False)
    )
    return _pair(builder.sign(ca_key, hashes.SHA256()), key)


def authority_expiry(ca: Pair) -> datetime:
    """Until when the CA can sign; raises TlsError if its key is another's or cannot be read."""
    authority, _ = _load_authority(ca)
    return authority.not_valid_after_utc


def serving_expiry(serving: Pair) -> datetime:
    """Until when the pair can be served."""
    return load_certificates(serving.certificate, "tls.crt")[0].not_valid_after_utc


def load_certificates(pem: bytes, file: str) -> list[x509.Certificate]:
    """The certificates of a PEM text, at least one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as err:
        raise TlsError(f"{file} holds no certificate that can be read") from err


def _load_authority(ca: Pair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    authority = load_certificates(ca.certificate, "ca.crt")[0]
    key = _load_key(ca.key, "ca.key")
    if key.public_key() != authority.public_key():
        raise TlsError("ca.key does not belong to ca.crt")
    return authority, key


def _load_key(pem: bytes, file: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError) as err:
        raise TlsError(f"{file} holds no private key that can be read") from err
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TlsError(f"{file} is no elliptic curve key")
    return key


def _builder(
    key: ec.EllipticCurvePrivateKey, since: datetime, until: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .public_key(public)
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _issuer_key_id(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        known = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound as err:
        raise TlsError("ca.crt has no subject key identifier") from err
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known.value)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name)
    except ValueError as err:
        raise TlsError(f"{name!r} is neither a DNS name nor an IP address") from err


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:MAX_COMMON_NAME])])


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
