"""What an administrator may set, read once at the start (spec 16).

Belongs here: the sections with their defaults, and reading them from a mapping. Does not: files,
flags and environment (`cli`), which are laid over them.
"""

from kq.settings.parse import QUOTA_PLUGINS, number, parse
from kq.settings.scheduling import SchedulingSettings, UnschedulableSettings
from kq.settings.sections import ApiSettings, BypassSettings, JobSettings, Settings

__all__ = [
    "QUOTA_PLUGINS",
    "ApiSettings",
    "BypassSettings",
    "JobSettings",
    "SchedulingSettings",
    "Settings",
    "UnschedulableSettings",
    "number",
    "parse",
]
