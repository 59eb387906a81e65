"""What can go wrong with a control plane, each with a message that says what to do next."""


class ControlPlaneError(Exception):
    """Any failure to build, start, reach or end a control plane."""


class BuildError(ControlPlaneError):
    """The binaries could not be made."""


class Blocked(ControlPlaneError):
    """Another process has what is needed, and does not let go of it."""


class StartError(ControlPlaneError):
    """The control plane did not come up."""


class Crashed(StartError):
    """A process of the control plane ended by itself."""


class Refused(ControlPlaneError):
    """The API server answered a request with an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
