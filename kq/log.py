"""Logs: JSON lines on stderr (spec 18.5), or lines for people at a terminal.

Modules log with `structlog.get_logger()`, events in the past tense with keys; what holds for a
whole piece of work (`component`, `request_id` ...) is told by `WORK`.
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Protocol

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

KEYS = (
    "time",
    "level",
    "event",
    "component",
    "request_id",
    "key",
    "unit",
    "job",
    "kind",
    "queue",
    "quota",
    "namespace",
    "phase",
    "reason",
    "position",
    "requested",
    "limit",
    "victims",
    "check",
    "duration_ms",
    "error",
)
"""The names of keys, in the order in which a line shows them; others follow."""


class Work(Protocol):
    """A piece of work that goes on."""

    def log_keys(self) -> Mapping[str, str]:
        """What every line of it bears; asked only when one is written: most work says nothing."""
        ...


WORK: ContextVar[Work | None] = ContextVar("work", default=None)
"""What the running task works on."""


class LogFormat(StrEnum):
    """How a log line is written."""

    JSON = "json"
    CONSOLE = "console"


def configure(level: str, format: LogFormat) -> None:
    """Send every log line of the process to stderr, from `level` (`debug`, `info` ...) on."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*_shared_processors(), *_renderers(format)],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_logger_factory(format),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[LibraryHandler()], level=threshold, force=True)


class LibraryHandler(logging.Handler):
    """Passes on what libraries log through the standard library, the library as component."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record's message at its level."""
        log = structlog.get_logger(component=record.name)
        log.log(record.levelno, record.getMessage(), exc_info=record.exc_info)


def merge_work(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The line with the keys of the work that goes on; keys of its own count."""
    work = WORK.get()
    return event if work is None else {**work.log_keys(), **event}


def _shared_processors() -> Sequence[Processor]:
    return (
        merge_work,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    )


def _renderers(format: LogFormat) -> Sequence[Processor]:
    match format:
        case LogFormat.JSON:
            return (structlog.processors.format_exc_info, _in_order, _to_json)
        case LogFormat.CONSOLE:
            console = structlog.dev.ConsoleRenderer(
                timestamp_key="time",
                colors=sys.stderr.isatty(),
                exception_formatter=structlog.dev.plain_traceback,
            )
            return (console,)


def _logger_factory(format: LogFormat) -> Any:
    if format is LogFormat.JSON:
        return structlog.BytesLoggerFactory(file=sys.stderr.buffer)
    return structlog.PrintLoggerFactory(file=sys.stderr)


def _in_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: event[key] for key in KEYS if key in event} | dict(event)


def _to_json(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    return msgspec.json.encode(event, enc_hook=str)
