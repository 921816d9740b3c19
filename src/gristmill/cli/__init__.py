"""The command line: one file a command, each a thin layer over the Python API.

`gristmill --help` imports neither Arrow nor Lance: commands import what they need when they run.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import signal
import sys
import traceback
from typing import Any

import click

from gristmill.errors import GristmillError

_SECTIONS = {
    "Look": ("inspect", "embody", "audit", "why", "query", "explain", "checks"),
    "Decide": ("curate", "accept"),
    "Keep track": ("status", "log", "diff", "gc"),
    "Try and test": ("demo", "sample", "inject"),
}


class Commands(click.Group):
    """The files of this folder are the commands; each defines `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"{__name__}.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands in sections, in the order in which they are used."""
        names = self.list_commands(ctx)
        shown = {n for section in _SECTIONS.values() for n in section}
        sections = {**_SECTIONS, "More": tuple(n for n in names if n not in shown)}
        for title, members in sections.items():
            rows = []
            for name in members:
                command = self.get_command(ctx, name) if name in names else None
                if command is not None:
                    rows.append((name, command.get_short_help_str(90)))
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine, 1 something was found, 2 nothing could be done as asked, 70 an internal error.",
)
@click.version_option(package_name="gristmill")
def cli() -> None:
    """Turn raw robot recordings into training data that one can defend."""


def main(argv: list[str] | None = None) -> None:
    """Run the command line; never shows a traceback for bad input."""
    sys.exit(run(argv))


def run(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _stop_on_hangup()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - for the life of the process
    try:
        result: Any = cli.main(args=argv, prog_name="gristmill", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say("interrupted; what was measured is kept, and the same command resumes")
        return 130
    except GristmillError as error:
        _say(f"error: {error}")
        return error.exit_status
    except BrokenPipeError:
        # The reader of our output went away (head, less): nothing is wrong with us.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _system_trouble(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence; the fault is shown, not hidden
        return _internal(error)


def _system_trouble(error: OSError) -> int:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        where = f" at {error.filename}" if error.filename else ""
        _say(f"error: the disk is full{where}; nothing was damaged: free some space and run the same command again")
        return 70
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        _say(f"error: no permission for {error.filename}; choose another place, or change its permissions")
        return 70
    return _internal(error)


def _internal(error: BaseException) -> int:
    if os.environ.get("GRISTMILL_TRACEBACK"):
        traceback.print_exception(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    _say(
        f"internal error: {type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno}); "  # noqa: PTH119
        "this is a fault of Gristmill: set GRISTMILL_TRACEBACK=1 for the details of a report"
    )
    return 70


def _say(text: str) -> None:
    from gristmill.visible import visible

    click.echo(f"gristmill: {visible(text)}", err=True)


def _stop_on_hangup() -> None:
    """A terminal that closes, or a polite kill, ends a run as Ctrl-C does."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _as_interrupt)


def _as_interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
