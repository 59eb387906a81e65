"""One certificate that vouches for itself: Kueue serves with it, the API server trusts it."""

import ipaddress

from controlplane.components import HOST
from controlplane.pki import NOT_AFTER, NOT_BEFORE, Pair
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY = "kueue-ca"
SERVICE = "kueue-webhook-service.kueue-system.svc"
"""Names that Kueue looks for in an authority and in a serving certificate; else it makes anew."""


def issue() -> Pair:
    """A pair that Kueue takes for one of its own, and that also holds for the loopback address."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)])
    names = [
        x509.DNSName(AUTHORITY),
        x509.DNSName(SERVICE),
        x509.IPAddress(ipaddress.ip_address(HOST)),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .add_extension(x509.SubjectAlternativeName(names), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(key, hashes.SHA256())
    )
    return Pair(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            # Of an authority's key Kueue reads this format only.
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )
