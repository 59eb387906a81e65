"""Every exception that kq raises on purpose, in one tree.

KqError
├── DecodeError         an object does not say what it must (bad input of a person)
│   └── QuantityError   a text that is no quantity of Kubernetes
├── ConfigError         flags, environment or configuration file (exit code 2)
├── TerminalError       a reconcile that no retry can mend
├── TlsError            a certificate or key that cannot be used
└── ApiError            the API server refused, or did not answer (kq.kube.errors)
"""


class KqError(Exception):
    """Any error of ours; the message names the object and the value, lower case, no full stop."""


class DecodeError(KqError):
    """An object or a part of it cannot be read; the message is fit for its owner."""


class QuantityError(DecodeError):
    """A text that Kubernetes itself would not take as a quantity."""


class ConfigError(KqError):
    """A wrong flag, variable or configuration file; commands end with exit code 2."""


class TerminalError(KqError):
    """A reconcile failed in a way that trying again cannot mend."""


class TlsError(KqError):
    """A certificate, key or bundle that cannot be used as it is."""
