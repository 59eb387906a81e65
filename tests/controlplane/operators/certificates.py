"""One certificate for the webhooks of all operators on a cluster, and who vouches for it."""

from collections.abc import Iterable
from pathlib import Path

from cryptography import x509

from controlplane import pki

AUTHORITY = x509.DNSName("training-operator-ca")
"""training-operator takes an authority for its own only by this name, and only with RSA."""


def ensure(folder: Path, hosts: Iterable[str]) -> None:
    """Puts ca.crt, ca.key, tls.crt and tls.key into a folder, unless it exists."""
    if folder.exists():
        return
    authority = pki.Authority("kq-operators", key=pki.rsa_key(), names=(AUTHORITY,))
    partial = folder.with_suffix(".partial")
    partial.mkdir(parents=True, mode=0o700, exist_ok=True)
    pki.write(authority.pair, partial, "ca")
    names = tuple(x509.DNSName(host) for host in hosts)
    # Spark operator reads no key but one of RSA.
    served = authority.server(names, subject="kq-operators", key=pki.rsa_key())
    pki.write(served, partial, "tls")
    partial.rename(folder)
