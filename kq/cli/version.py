"""`kq version`."""

import click

from kq import __version__


@click.command()
def version() -> None:
    """The version of kq."""
    click.echo(__version__)
