"""`kq version`."""

import click

from kq import __version__
from kq.cli.help import HELP


@click.command(context_settings=HELP)
def version() -> None:
    """The version of kq."""
    click.echo(__version__)
