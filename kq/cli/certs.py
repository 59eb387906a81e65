"""`kq certs`: certificates in a folder, for development and for a CA of one's own (spec 17)."""

import importlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import click

from kq.cli.help import HELP
from kq.clock import utc_now
from kq.errors import KqError, TlsError
from kq.tls import verify as files
from kq.tls.issue import (
    Pair,
    Profile,
    authority_expiry,
    issue_ca,
    issue_serving,
    serving_expiry,
    serving_names,
)

CA_KEY = "ca.key"
SERVICE = "koord-queue-webhook"
NAMESPACE = "koord-queue"
LEAST_LIFE = timedelta(days=14)

_service = click.option("--service", default=SERVICE, show_default=True, help="The Service.")
_namespace = click.option(
    "--namespace", default=NAMESPACE, show_default=True, help="Its namespace."
)


@click.group(context_settings=HELP)
def certs() -> None:
    """Certificates of the webhook."""


@certs.command(context_settings=HELP)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder."
)
@_service
@_namespace
@click.option("--name", "extra", multiple=True, help="One more DNS name or IP address.")
@click.option("--force", is_flag=True, help="Make a new CA although the present one is good.")
@click.option("--inject", is_flag=True, help="Write the CA into the webhook configuration.")
@click.option("--kubeconfig", default=None, help="For --inject.")
@click.option("--context", default=None, help="For --inject.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, write nothing.")
def issue(
    *,
    out: Path,
    service: str,
    namespace: str,
    extra: Sequence[str],
    force: bool,
    inject: bool,
    kubeconfig: str | None,
    context: str | None,
    dry_run: bool,
) -> None:
    """Write CA and serving pair.

    A second run renews the pair under the same CA.
    """
    try:
        names = serving_names(service, namespace, extra)
        ca = _issue_into(out, names, utc_now(), force=force, dry_run=dry_run)
        if inject:
            # Only here: it brings in the whole client of the API server.
            module = importlib.import_module("kq.cli.inject")
            click.echo(module.inject(ca.certificate, kubeconfig, context, dry_run=dry_run))
    except (KqError, OSError) as err:
        raise click.ClickException(str(err)) from err


@certs.command(context_settings=HELP)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_service
@_namespace
def verify(*, folder: Path, service: str, namespace: str) -> None:
    """Check chain, names and pair.

    The exit code is 1 unless they hold for 14 more days at least.
    """
    now = utc_now()
    try:
        for name in serving_names(service, namespace):
            served = files.load(folder, name, now)
    except TlsError as err:
        raise click.ClickException(f"{folder}: {err}") from err
    for file, until in ((files.CERTIFICATE, served.not_after), (files.CA, served.ca_not_after)):
        if until - now < LEAST_LIFE:
            raise click.ClickException(f"{file} expires at {until:%Y-%m-%d %H:%M} UTC")
        click.echo(f"{file} good until {until:%Y-%m-%d %H:%M} UTC")


def _issue_into(
    folder: Path, names: Sequence[str], now: datetime, *, force: bool, dry_run: bool
) -> Pair:
    """Issues what the folder needs, says so, and gives the CA."""
    profile = Profile()
    present = None if force else _present_ca(folder, now)
    ca = present or issue_ca(now, profile)
    serving = issue_serving(ca, names, now, profile)
    _write_all(
        folder, {CA_KEY: ca.key, files.CA: ca.certificate} if present is None else {}, dry_run
    )
    _write_all(folder, {files.KEY: serving.key, files.CERTIFICATE: serving.certificate}, dry_run)
    click.echo(f"{files.CA} good until {authority_expiry(ca):%Y-%m-%d %H:%M} UTC")
    click.echo(f"{files.CERTIFICATE} good until {serving_expiry(serving):%Y-%m-%d %H:%M} UTC")
    click.echo(f"names: {', '.join(names)}")
    return ca


def _present_ca(folder: Path, now: datetime) -> Pair | None:
    """The CA of the folder; None if there is none or it has expired.

    One that cannot be read or whose key is missing may be somebody's own: it is left alone.
    """
    certificate, key = folder / files.CA, folder / CA_KEY
    if not certificate.exists() and not key.exists():
        return None
    try:
        ca = Pair(certificate.read_bytes(), key.read_bytes())
        return ca if authority_expiry(ca) > now else None
    except (OSError, TlsError) as err:
        reason = err.strerror if isinstance(err, OSError) else str(err)
        raise TlsError(
            f"the CA in {folder} cannot sign ({reason}): --force makes a new one"
        ) from err


def _write_all(folder: Path, contents: dict[str, bytes], dry_run: bool) -> None:
    for file, content in contents.items():
        if not dry_run:
            _write(folder / file, content)
        click.echo(f"{'would write' if dry_run else 'wrote'} {folder / file}")


def _write(path: Path, content: bytes) -> None:
    """The whole content or the old one, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
