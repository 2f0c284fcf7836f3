"""Skills as tools that a model can call, and the calling."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._binary import find_binary
from ._errors import Problem, ToolboxError, UsageError
from ._skill import Fetch, Skill

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import TypedDict, Unpack

    class _Options(TypedDict, total=False):
        form: Form
        code: bool
        own_tools: OwnTools
        all_names: bool
        reserved: Iterable[str]
        sandbox: bool | None
        reduced: bool
        network: Sequence[str]
        timeout: float | None
        context: Mapping[str, Any] | None
        fetch: Fetch
        data_dir: str | os.PathLike[str] | None

Source = Union[str, "os.PathLike[str]", Skill]
Form = Literal["compact", "per-skill"]
OwnTools = Literal["on-load", "at-once"]


@dataclass(frozen=True)
class Tool:
    """A tool as it is sent to a model."""

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of its arguments, always of an object."""

    def to_openai(self) -> dict[str, Any]:
        """For ``tools`` of OpenAI's Chat Completions."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
        }
        return {"type": "function", "function": function}

    def to_responses(self) -> dict[str, Any]:
        """For ``tools`` of OpenAI's Responses."""
        return {"type": "function", "strict": False, **self.to_openai()["function"]}

    def to_anthropic(self) -> dict[str, Any]:
        """For ``tools`` of Anthropic's Messages."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


@dataclass(frozen=True)
class File:
    """A file that a call created or changed."""

    path: str
    """Its path, relative to the container's working folder."""
    mime_type: str
    size: int
    sha256: str
    _toolbox: Toolbox = field(repr=False, compare=False)

    def read(self) -> bytes:
        """Its content as it is now."""
        return self._toolbox.read_file(self.path)

    async def aread(self) -> bytes:
        """The same, without holding up the event loop."""
        return await self._toolbox.aread_file(self.path)

    def save(self, folder: str | os.PathLike[str] = ".") -> Path:
        """Writes it below ``folder``, under its own path, and returns where. A hidden file
        that exists is not replaced: it is another program's setting more often than a result."""
        content = self.read()
        place = Path(folder, self.path)
        # Its path comes from a skill's code, and a link in the folder may lead anywhere.
        if not place.resolve().is_relative_to(Path(folder).resolve()):
            raise UsageError(f"{place} leads out of {folder}", "file-outside")
        place.parent.mkdir(parents=True, exist_ok=True)
        is_hidden = any(part.startswith(".") for part in Path(self.path).parts)
        try:
            with place.open("xb" if is_hidden else "wb") as file:
                file.write(content)
        except FileExistsError:
            raise UsageError(f"{place} exists, and is hidden", "file-hidden") from None
        return place


@dataclass(frozen=True)
class Attached:
    """Something that is not text and was shown, such as an image of a skill."""

    mime_type: str
    content: bytes


@dataclass(frozen=True)
class Result:
    """What came of a call. A failure is a result too: the model reads it and can act."""

    text: str
    """What the model is to read."""
    is_error: bool
    """Whether it failed."""
    files: list[File]
    """The files it created or changed."""
    attached: list[Attached]
    """What was shown that is not text."""
    skill: str | None
    """The skill it was for."""
    loaded: list[str]
    """Skills that are loaded now and were not before."""
    skipped: list[dict[str, str]]
    """What it left behind that is no file to be had: ``path`` and ``reason``."""


@dataclass(frozen=True)
class Shadowed:
    """A skill that another of the same name hides."""

    name: str
    hidden: str | None
    by: str


@dataclass(frozen=True)
class _Settings:
    form: Form
    code: bool
    own_tools: OwnTools
    all_names: bool
    reserved: list[str]
    sandbox: bool | None
    reduced: bool
    network: list[str]
    timeout: float | None
    context: str
    fetch: Fetch
    launcher: Path
    data_dir: str | None


class Toolbox:
    """Skills as tools for a model, for one agent.

    ``sources`` are folders of skills (searched below), archives, URLs or :class:`Skill`
    objects, one or several. Of two skills with one name the later source's counts, a
    :class:`Skill` object before all of them; :attr:`shadowed` tells.

    :param form: ``compact`` is one tool for all, ``load_skill(name, path?)``; ``per-skill``
        is one for each, ``load_skill_NAME(path?)``, described by its frontmatter.
    :param code: offer ``bash_code_execution`` and ``text_editor_code_execution``.
    :param own_tools: when the skills' own tools are shown: ``on-load``, when their skill
        was loaded, or ``at-once``, for a client whose list of tools cannot grow; a call
        of one then loads its skill. Where too many skills have some, :attr:`problems` has
        ``own-tools-many``, and they are shown when loaded after all.
    :param all_names: also show ``list_skills``, ``search_skills``, ``read_skill_resource``
        and ``run_skill_script``, which are answered in any case.
    :param reserved: names of your own tools, which these never take.
    :param sandbox: ``None`` opens one if a skill has anything to run; where this host has
        none, skills can still be read, and :attr:`problems` says so. ``True`` raises
        instead; ``False`` runs nothing.
    :param reduced: run code even where this host lacks a layer of the sandbox.
    :param network: domains that code may reach (``example.com``, ``*.example.com``); none
        when left out.
    :param timeout: seconds that one call may take.
    :param context: what functions of a ``tools.py`` find in ``ctx.metadata``.
    :param fetch: how URLs are fetched.
    :param data_dir: where the sandbox keeps its things; a temporary folder when left out.

    Close it when you are done, or use it in a ``with`` statement::

        with Toolbox("skills") as toolbox:
            tools = [tool.to_openai() for tool in toolbox.tools()]
            result = toolbox.call("load_skill", {"name": "pdf"})

    Calls may run side by side on several threads or tasks.
    """

    _held: _native.Toolbox | None

    def __init__(
        self,
        sources: Source | Iterable[Source],
        *,
        form: Form = "compact",
        code: bool = False,
        own_tools: OwnTools = "on-load",
        all_names: bool = False,
        reserved: Iterable[str] = (),
        sandbox: bool | None = None,
        reduced: bool = False,
        network: Sequence[str] = (),
        timeout: float | None = None,
        context: Mapping[str, Any] | None = None,
        fetch: Fetch = Fetch(),
        data_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        settings = _settings(locals())
        self._take(_native.Toolbox.open(_sources(sources), settings).wait())

    @classmethod
    async def open(
        cls, sources: Source | Iterable[Source], **options: Unpack[_Options]
    ) -> Toolbox:
        """The same as ``Toolbox(sources, …)``, without holding up the event loop."""
        defaults = dict(cls.__init__.__kwdefaults__ or {})
        if unknown := options.keys() - defaults.keys():
            raise TypeError(f"Toolbox.open() got unexpected arguments: {', '.join(unknown)}")
        settings = _settings({**defaults, **options})
        toolbox = cls.__new__(cls)
        toolbox._take(await _native.Toolbox.open(_sources(sources), settings).start())
        return toolbox

    def _take(self, native: _native.Toolbox) -> None:
        self._held = native
        # Whoever forgets to close it leaves nothing behind either.
        self._forgotten = weakref.finalize(self, _end, native)

    @property
    def _open(self) -> _native.Toolbox:
        if self._held is None:
            raise ToolboxError("the toolbox was closed", "toolbox-closed")
        return self._held

    def tools(self) -> list[Tool]:
        """The tools that a model may call now. Loading a skill adds its own at the end, so
        ask again before every request."""
        return [Tool(**tool) for tool in json.loads(self._open.tools())]

    def catalogue(self) -> str:
        """The skills there are, a line each: for a system prompt."""
        return self._open.catalogue()

    def owns(self, name: str) -> bool:
        """Whether a call of this name is for this toolbox."""
        return self._open.owns(name)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Result:
        """Calls a tool. ``arguments`` are a mapping, or the JSON text of one as models
        give it."""
        return self._result(*self._open.call(name, _json(arguments)).wait())

    async def acall(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Result:
        """The same, without holding up the event loop. Cancelling it ends what runs."""
        return self._result(*await self._open.call(name, _json(arguments)).start())

    def write_file(self, path: str, content: bytes | str) -> None:
        """Writes a file for calls to work on; ``path`` is relative to the container's working
        folder, in which all code runs."""
        self._open.write(path, _bytes(content)).wait()

    async def awrite_file(self, path: str, content: bytes | str) -> None:
        """The same, without holding up the event loop."""
        await self._open.write(path, _bytes(content)).start()

    def read_file(self, path: str) -> bytes:
        """The content of one of the container's files."""
        return self._open.read(path).wait()

    async def aread_file(self, path: str) -> bytes:
        """The same, without holding up the event loop."""
        return await self._open.read(path).start()

    def list_files(self) -> list[str]:
        """The paths of the container's files."""
        return self._open.files().wait()

    async def alist_files(self) -> list[str]:
        """The same, without holding up the event loop."""
        return await self._open.files().start()

    def load(self, *names: str) -> list[str]:
        """Loads skills without showing them to a model, to continue a conversation.
        Returns the problems."""
        return self._open.load(list(names)).wait()

    async def aload(self, *names: str) -> list[str]:
        """The same, without holding up the event loop."""
        return await self._open.load(list(names)).start()

    def refresh(self) -> bool:
        """Reads the sources again, and returns whether the skills have changed. Those that
        were loaded and are still there stay loaded."""
        return self._open.refresh().wait()

    async def arefresh(self) -> bool:
        """The same, without holding up the event loop."""
        return await self._open.refresh().start()

    @property
    def skills(self) -> dict[str, str]:
        """The names of the skills, with what each is for."""
        return {skill["name"]: skill["description"] for skill in self._seen()["skills"]}

    @property
    def loaded(self) -> list[str]:
        """The skills that are loaded, in the order of loading."""
        return self._open.loaded()

    @property
    def has_sandbox(self) -> bool:
        """Whether skills' code can run."""
        return self._open.has_sandbox()

    @property
    def problems(self) -> list[Problem]:
        """Places that give no skill, and tools that are missing. The others are not
        harmed."""
        return [Problem._of(problem) for problem in self._seen()["problems"]]

    @property
    def shadowed(self) -> list[Shadowed]:
        """Skills that lost their name to one of a later source."""
        return [Shadowed(**shadowed) for shadowed in self._seen()["shadowed"]]

    def close(self) -> None:
        """Deletes the container and its files. Closing again does nothing."""
        self._held = None
        self._forgotten()

    async def aclose(self) -> None:
        """The same, without holding up the event loop."""
        native, self._held = self._held, None
        self._forgotten.detach()
        if native is not None:
            await native.close().start()

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Toolbox:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _seen(self) -> dict[str, Any]:
        return json.loads(self._open.seen())

    def _result(self, told: str, blobs: list[bytes]) -> Result:
        result = json.loads(told)
        return Result(
            text=result["text"],
            is_error=result["is_error"],
            files=[File(**file, _toolbox=self) for file in result["files"]],
            attached=[Attached(*both) for both in zip(result["attached"], blobs)],
            skill=result["skill"],
            loaded=result["loaded"],
            skipped=result["skipped"],
        )


def _end(native: _native.Toolbox) -> None:
    native.close().wait()


def _settings(given: dict[str, Any]) -> _Settings:
    data_dir = given["data_dir"]
    if isinstance(given["network"], str):
        raise UsageError("network: give a list of domains, not one text", "usage")
    return _Settings(
        form=given["form"],
        code=given["code"],
        own_tools=given["own_tools"],
        all_names=given["all_names"],
        reserved=list(given["reserved"]),
        sandbox=given["sandbox"],
        reduced=given["reduced"],
        network=list(given["network"]),
        timeout=given["timeout"],
        context=_json(given["context"]),
        fetch=given["fetch"],
        # The sandbox starts it again under another name; it must not be a Python.
        launcher=find_binary(),
        data_dir=None if data_dir is None else os.fspath(data_dir),
    )


def _sources(sources: Source | Iterable[Source]) -> list[str | _native.Skill]:
    one = isinstance(sources, (str, os.PathLike, Skill))
    several: Iterable[Any] = [sources] if one else sources  # type: ignore[assignment]
    return [s._held if isinstance(s, Skill) else os.path.expanduser(os.fspath(s)) for s in several]


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _json(arguments: Mapping[str, Any] | str | None) -> str:
    if isinstance(arguments, str):
        return arguments or "{}"
    return json.dumps({} if arguments is None else dict(arguments))
