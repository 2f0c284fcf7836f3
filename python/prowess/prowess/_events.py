"""What a run reports while it is in progress, and its result."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from . import _native


@dataclass(frozen=True)
class Usage:
    """What a run took, over all its turns."""

    input_tokens: int = 0
    """Input that was neither read from nor written to a cache."""
    output_tokens: int = 0
    """Output, thinking included."""
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    thinking_tokens: int = 0
    """The part of the output that was thinking."""


@dataclass(frozen=True)
class RunFile:
    """A file that the model's code created. It can be read until the client is closed, and
    from a server as long as the server stores it."""

    id: str
    """``file_…``."""
    name: str
    """Its path below ``/mnt/data``. It comes from a model's code: do not use it as a path."""
    size: int
    mime_type: str | None
    """Its media type, where it is known."""
    _open: Callable[[], _native.Runner] = field(repr=False, compare=False)

    def read(self) -> bytes:
        """Its content."""
        return self._open().read(self.id).wait()

    async def aread(self) -> bytes:
        """The same, without holding up the event loop."""
        return await self._open().read(self.id).start()

    def save(self, path: str | os.PathLike[str] = ".") -> Path:
        """Writes it to ``path``, and returns where. In a folder it gets a safe form of the
        last part of its name."""
        return _write(self._place(path), self.read())

    async def asave(self, path: str | os.PathLike[str] = ".") -> Path:
        """The same; only the reading does not hold up the event loop."""
        return _write(self._place(path), await self.aread())

    def _place(self, path: str | os.PathLike[str]) -> Path:
        place = Path(path)
        is_folder = place.is_dir() or os.fspath(path).endswith(os.sep)
        return place / _safe_name(self.name) if is_folder else place


def _safe_name(name: str) -> str:
    """The last part of a path, without what could lead elsewhere or steer a terminal."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w .,@()+=-]", "_", last).strip()[-100:]
    return re.sub(r"^[.~-]", "_", plain) or "unnamed"


def _write(place: Path, content: bytes) -> Path:
    """Writes a new file and renames it: no link is followed, and no half of it is seen."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as file:
            file.write(content)
        new.replace(place)
    finally:
        new.unlink(missing_ok=True)
    return place


@dataclass(frozen=True)
class RunResult:
    """What a run gave."""

    text: str
    """The text of the answer, of all turns."""
    files: list[RunFile]
    """The files that the model's code created, each in its last version."""
    usage: Usage
    stop_reason: str | None
    """``end_turn`` when the model was done; else what ended the run, such as ``max_tokens``,
    ``pause_turn`` or ``refusal``."""
    model: str
    """The model that answered."""
    run_id: str | None
    """``run_…``; ``None`` where a server passed the request on without a run."""
    container_id: str | None
    """The container in which code ran: a later run can continue in it."""


@dataclass(frozen=True)
class TextDelta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True)
class ThinkingDelta:
    """More of what the model thinks, where its provider shows it."""

    text: str


@dataclass(frozen=True)
class TurnStarted:
    """A model has started to respond."""

    number: int
    """Which turn of the run it is, from 1."""
    model: str
    provider: str | None
    """``None`` on a server, which does not say."""


@dataclass(frozen=True)
class ToolStarted:
    """A tool is called. A server reports the call of a skill's own tool when it has ended, and
    the loading of a skill as ``text_editor_code_execution``."""

    id: str
    name: str
    input: Any
    """Its arguments: a mapping, or a text when the model wrote no valid JSON."""


@dataclass(frozen=True)
class ToolEnded:
    """A call of a tool has ended."""

    id: str
    name: str
    is_error: bool
    output: str
    """What the model reads."""
    skill: str | None
    """The skill that it was for, if that is known."""
    seconds: float | None
    """How long it took, where that is known."""


@dataclass(frozen=True)
class SkillLoaded:
    """A skill was loaded. A server does not report it."""

    name: str


@dataclass(frozen=True)
class FileCreated:
    """The model's code created a file."""

    file: RunFile


@dataclass(frozen=True)
class LimitReached:
    """A limit ends the run. A server does not report it: see ``RunResult.stop_reason``."""

    limit: str


@dataclass(frozen=True)
class RunEnded:
    """The run has ended; the last event."""

    result: RunResult


RunEvent = Union[
    TextDelta,
    ThinkingDelta,
    TurnStarted,
    ToolStarted,
    ToolEnded,
    SkillLoaded,
    FileCreated,
    LimitReached,
    RunEnded,
]


class EventReader:
    """Makes events of what the native module reports, and keeps the result."""

    result: RunResult | None = None

    def __init__(self, opened: Callable[[], _native.Runner]) -> None:
        self._open = opened
        self._makers: dict[str, Callable[[dict[str, Any]], RunEvent]] = {
            "text": lambda event: TextDelta(event["text"]),
            "thinking": lambda event: ThinkingDelta(event["text"]),
            "turn": _turn,
            "tool_started": lambda event: ToolStarted(event["id"], event["name"], event["input"]),
            "tool_ended": _tool_ended,
            "skill_loaded": lambda event: SkillLoaded(event["name"]),
            "file_made": lambda event: FileCreated(self._file(event["file"])),
            "limit_met": lambda event: LimitReached(event["limit"]),
            "ended": self._ended,
        }

    def read(self, event: dict[str, Any]) -> RunEvent | None:
        """The event; ``None`` for one of a kind that is not known here."""
        make = self._makers.get(event["type"])
        return None if make is None else make(event)

    def _ended(self, event: dict[str, Any]) -> RunEvent:
        self.result = RunResult(
            text=event["text"],
            files=[self._file(file) for file in event["files"]],
            usage=Usage(**event["usage"]),
            stop_reason=event["stop_reason"],
            model=event["model"],
            run_id=event["run"],
            container_id=event["container"],
        )
        return RunEnded(self.result)

    def _file(self, file: dict[str, Any]) -> RunFile:
        return RunFile(
            id=file["file_id"],
            name=file["filename"],
            size=file["size_bytes"],
            mime_type=file["mime_type"],
            _open=self._open,
        )


def _turn(event: dict[str, Any]) -> RunEvent:
    return TurnStarted(event["number"], event["model"], event.get("provider"))


def _tool_ended(event: dict[str, Any]) -> RunEvent:
    millis = event.get("millis")
    return ToolEnded(
        id=event["id"],
        name=event["name"],
        is_error=event["is_error"],
        output=event["shown"],
        skill=event.get("skill"),
        seconds=None if millis is None else millis / 1000,
    )
