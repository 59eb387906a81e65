"""Who trusts whom: one authority, the server's certificate, and one for each client."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Certificates for loopback, in a folder of one user: they live as long as that folder does.
NOT_BEFORE = datetime(2020, 1, 1, tzinfo=UTC)
NOT_AFTER = datetime(2100, 1, 1, tzinfo=UTC)

SERVER_NAMES = (
    x509.DNSName("localhost"),
    x509.DNSName("kubernetes"),
    x509.DNSName("kubernetes.default"),
    x509.DNSName("kubernetes.default.svc"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
)


PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives in memory."""

    def __init__(
        self,
        name: str,
        *,
        key: PrivateKey | None = None,
        names: tuple[x509.GeneralName, ...] = (),
    ) -> None:
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self._subject, self._subject, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def pair(self) -> Pair:
        """The authority itself, for those who are to issue for it."""
        pem = serialization.PrivateFormat.TraditionalOpenSSL
        return Pair(certificate=self.certificate, key=_private_pem(self._key, pem))

    def server(
        self,
        names: tuple[x509.GeneralName, ...] = SERVER_NAMES,
        *,
        subject: str = "kube-apiserver",
        key: PrivateKey | None = None,
    ) -> Pair:
        """A certificate to serve those names with."""
        return self._issue(subject, None, x509.SubjectAlternativeName(names), key)

    def client(self, user: str, group: str | None = None) -> Pair:
        """A certificate to log in with as that user."""
        return self._issue(user, group, None)

    def _issue(
        self,
        name: str,
        group: str | None,
        names: x509.SubjectAlternativeName | None,
        key: PrivateKey | None = None,
    ) -> Pair:
        key = key or ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if group:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        builder = _builder(x509.Name(attributes), self._subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), True)
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, False)
        if names:
            builder = builder.add_extension(names, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(
            certificate=certificate.public_bytes(serialization.Encoding.PEM),
            key=_private_pem(key, _form(key)),
        )


def rsa_key() -> rsa.RSAPrivateKey:
    """A key of the old kind, for those who know no other."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def signing_pair() -> Pair:
    """A key pair for ServiceAccount tokens; the public key stands in the certificate's place."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Pair(certificate=public, key=_private_pem(key))


def write(pair: Pair, folder: Path, name: str) -> None:
    """Puts a pair into `<name>.crt` and `<name>.key`, the key for its owner only."""
    (folder / f"{name}.crt").write_bytes(pair.certificate)
    key = folder / f"{name}.key"
    key.touch(mode=0o600)
    key.write_bytes(pair.key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: PublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _form(key: PrivateKey) -> serialization.PrivateFormat:
    """Those who want a key of the old kind want it in the old form too."""
    if isinstance(key, rsa.RSAPrivateKey):
        return serialization.PrivateFormat.TraditionalOpenSSL
    return serialization.PrivateFormat.PKCS8


def _private_pem(
    key: PrivateKey, pem: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, pem, serialization.NoEncryption())
