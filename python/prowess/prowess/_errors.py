"""Errors. Each has a stable ``code`` and says what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or merely worth knowing."""

    code: str
    """A stable identifier, such as ``name-mismatch``."""
    message: str
    """What is wrong, in one sentence."""
    severity: str = "error"
    """``note``, ``warning`` or ``error``."""
    file: str | None = None
    """The file of the skill, or the path of the source."""
    line: int | None = None
    """The line in that file, from 1."""
    column: int | None = None
    """The column in that line, from 1."""
    fix: str | None = None
    """What to do about it."""

    @classmethod
    def _of(cls, told: dict[str, Any]) -> Problem:
        place = told.get("place") or {}
        return cls(
            code=told["code"],
            message=told["message"],
            severity=told.get("severity", "error"),
            file=told.get("file") or told.get("path"),
            line=place.get("line"),
            column=place.get("column"),
            fix=told.get("fix"),
        )

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


class ProwessError(Exception):
    """Anything that went wrong here. A tool that fails is no error: see ``Result``."""

    code: str
    """A stable identifier of the reason, such as ``source-not-found``."""

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.code = code

    @classmethod
    def _made(cls, message: str, code: str, details: str) -> ProwessError:
        error = cls(message, code)
        error._told(json.loads(details))
        return error

    def _told(self, details: dict[str, Any]) -> None:
        """Takes what else is known."""

    def __reduce__(self) -> Any:
        return (_again, (type(self), str(self), self.__dict__))


def _again(cls: type[ProwessError], message: str, state: dict[str, Any]) -> ProwessError:
    error = cls(message)
    error.__dict__.update(state)
    return error


class UsageError(ProwessError, ValueError):
    """An invalid argument."""


class SourceError(ProwessError):
    """A path or a URL that cannot be read, or has no skill."""


class SkillError(ProwessError):
    """What was read is not a skill, or not one by the rules asked for."""

    problems: list[Problem]
    """All diagnostics: errors first, then the others."""

    def __init__(self, message: str, code: str = "not-a-skill") -> None:
        super().__init__(message, code)
        self.problems = []

    def _told(self, details: dict[str, Any]) -> None:
        self.problems = [Problem._of(problem) for problem in details.get("problems", [])]


class ToolboxError(ProwessError):
    """A toolbox that cannot be created, or was closed."""


class SandboxError(ProwessError):
    """There is no sandbox here, or it cannot do what was asked."""


class StoreError(ProwessError):
    """A store, or a server's, did not do as asked."""


class RunError(ProwessError):
    """A run that could not start, or failed: an unknown model, a request that cannot be run,
    or a provider that refused or broke off."""

    status: int | None
    """The HTTP status of the server or the provider, or the one that fits."""
    request_id: str | None
    """The request's id, as in the server's log."""

    def __init__(self, message: str, code: str = "run-failed") -> None:
        super().__init__(message, code)
        self.status = None
        self.request_id = None

    def _told(self, details: dict[str, Any]) -> None:
        self.status = details.get("status")
        self.request_id = details.get("request_id")


class ServerError(StoreError):
    """A server that cannot be reached, or refuses."""

    status: int | None
    """The HTTP status, if the server answered."""
    request_id: str | None
    """The request's id, as in the server's log."""

    def __init__(self, message: str, code: str = "server-refused") -> None:
        super().__init__(message, code)
        self.status = None
        self.request_id = None

    def _told(self, details: dict[str, Any]) -> None:
        self.status = details.get("status")
        self.request_id = details.get("request_id")
