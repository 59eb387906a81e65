"""The commands of `kq`: each found and imported when called; errors as one line and a code."""

import importlib
import sys
from typing import NoReturn

import click

from kq import __version__
from kq.cli.help import HELP
from kq.errors import ConfigError, KqError

COMMANDS = {
    "certs": ("kq.cli.certs", "certs", "Certificates of the webhook."),
    "demo": ("kq.cli.demo", "demo", "A show of what kq does, on a simulated cluster."),
    "manager": ("kq.cli.processes", "manager", "The manager: queues jobs and releases them."),
    "sim": ("kq.cli.sim", "sim", "A simulated cluster with kq at work on it."),
    "version": ("kq.cli.version", "version", "The version of kq."),
    "webhook": ("kq.cli.processes", "webhook", "The webhook: holds jobs as they are submitted."),
}
"""Name, module, attribute and one line of help of every command."""


class LazyGroup(click.Group):
    """Imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `--help`, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings=HELP)
@click.version_option(__version__, prog_name="kq")
def kq() -> None:
    """A job queue for Kubernetes."""


def run() -> None:
    """Runs what the command line says, and exits."""
    arguments = [_two_dashes(each) for each in sys.argv[1:]]
    try:
        code = kq.main(args=arguments, prog_name="kq", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as err:
        click.echo(err.format_message(), err=True)
        sys.exit(err.exit_code)
    except click.UsageError as err:
        asked = f"{err.ctx.command_path} --help" if err.ctx else "kq --help"
        _end(f"{err.format_message().removesuffix('.')} (see {asked})", err.exit_code)
    except click.ClickException as err:
        _end(err.format_message(), err.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    except ConfigError as err:
        _end(str(err), 2)
    except KqError as err:
        _end(str(err), 1)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _end(message: str, code: int) -> NoReturn:
    """One line, whatever the message; then the end."""
    click.echo(f"kq: {' '.join(message.split())}", err=True)
    sys.exit(code)


def _two_dashes(argument: str) -> str:
    """Long flags may have one dash, as those of Go programs (spec 16.5)."""
    is_long = len(argument) > 2 and argument[0] == "-" and argument[1].isalpha()
    return f"-{argument}" if is_long else argument
