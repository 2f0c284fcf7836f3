"""Runs of a model with skills: in this process, or on a server."""

from __future__ import annotations

import asyncio
import json
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._binary import find_binary
from ._errors import ProwessError, UsageError
from ._events import EventReader, RunResult
from ._skill import Fetch
from ._stream import AsyncRunStream, RunStream
from ._toolbox import Source, _sources

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import TypedDict, Unpack

    class RunOptions(TypedDict, total=False):
        """See :class:`Prowess`."""

        skills: Source | Iterable[Source]
        files: InputFile | Iterable[InputFile]
        system: str | None
        max_tokens: int | None
        container: str | None
        code: bool
        timeout: float | None
        fetch: Fetch

AnyPath = Union[str, "os.PathLike[str]"]
InputFile = Union[str, "os.PathLike[str]", "tuple[str, bytes]"]
Prompt = Union[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class _Local:
    config: str | None
    data_dir: str | None
    sandbox: bool
    reduced: bool
    network: list[str]
    launcher: Path


@dataclass(frozen=True)
class _Request:
    model: str
    messages: str
    system: str | None
    max_tokens: int | None
    container: str | None
    code: bool
    timeout: float | None
    fetch: Fetch


class _Runs:
    """What both clients have: where their runs take place."""

    _held: _native.Runner | None = None
    _closed = False

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        config: AnyPath | None = None,
        data_dir: AnyPath | None = None,
        sandbox: bool = True,
        reduced: bool = False,
        network: Sequence[str] = (),
    ) -> None:
        if isinstance(network, str):
            raise UsageError("network: give a list of domains, not one text", "usage")
        self._local = _Local(
            config=_path(config),
            data_dir=_path(data_dir),
            sandbox=sandbox,
            reduced=reduced,
            network=list(network),
            launcher=find_binary(),
        )
        here = config is not None or data_dir is not None or bool(network) or reduced
        here = here or not sandbox
        if base_url and here:
            why = "config, data_dir, sandbox, reduced and network are for runs in this process"
            raise UsageError(f"{why}; leave them out, or base_url", "usage")
        self._url = base_url or (None if here else os.environ.get("PROWESS_URL") or None)
        if self._url is not None:
            key = api_key or os.environ.get("PROWESS_API_KEY") or None
            self._take(_native.Runner.connect(self._url, key))

    def _take(self, native: _native.Runner) -> _native.Runner:
        self._held = native
        # Whoever forgets to close it loses no records either.
        self._forgotten = weakref.finalize(self, _end, native)
        return native

    def _runner(self) -> _native.Runner:
        if self._held is None:
            raise ProwessError("the client was closed", "client-closed")
        return self._held

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._url or 'in this process'}>"


class Prowess(_Runs):
    """Runs models with skills.

    With ``base_url`` a server makes the runs, with its models, stored skills and settings.
    Without it they are made in this process, by models whose keys are in the environment
    (``OPENAI_API_KEY``, ``ANTHROPIC_API_KEY``, …), named ``provider/model``.

    :param base_url: a server; ``PROWESS_URL`` when left out, unless another argument is for
        runs in this process.
    :param api_key: the server's key; ``PROWESS_API_KEY`` when left out.
    :param config: a ``prowess.toml`` with providers, models and settings.
    :param data_dir: where skills, files and records are stored. When left out, that of
        ``config``, else a temporary folder.
    :param sandbox: whether code can run.
    :param reduced: run code even where this host lacks a layer of the sandbox.
    :param network: domains that code may reach; those of ``config`` when left out, else none.

    :meth:`run` and :meth:`stream` take a model, a prompt (a text, or a list of messages of
    Anthropic's API), and:

    :param skills: each an id (``skill_…``, ``skill_…@2``), the name of a stored skill, a
        folder, an archive, a URL, or a :class:`Skill`; ``"auto"`` opens all stored skills.
    :param files: files for code to work on: paths, or pairs of a name and its content.
    :param system: the system prompt.
    :param max_tokens: output tokens per turn; on a server 8,192 when left out.
    :param container: ``container_id`` of an earlier result, to continue with its files.
    :param code: whether the model may run code.
    :param timeout: seconds that the run may take.
    :param fetch: how skills are fetched from URLs.

    Close it when you are done, or use it in a ``with`` statement::

        with Prowess() as client:
            result = client.run("openai/gpt-5", "Make me a GIF", skills=["skills/gif"])
            print(result.text)
            for file in result.files:
                file.save("made/")
    """

    def run(self, model: str, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult:
        """Runs to the end, and returns the result. Ctrl-C cancels the run."""
        with self.stream(model, prompt, **options) as stream:
            return stream.result()

    def stream(self, model: str, prompt: Prompt, **options: Unpack[RunOptions]) -> RunStream:
        """Starts a run, and returns its events."""
        request = _request(model, prompt, **options)
        if self._held is None and not self._closed:
            self._take(_native.Runner.open(self._local).wait())
        run = self._runner().run(*request).wait()
        return RunStream(run, EventReader(self._runner))

    def close(self) -> None:
        """Lets go of it. Closing again does nothing."""
        self._closed = True
        if self._held is not None:
            self._held = None
            self._forgotten()

    def __enter__(self) -> Prowess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncProwess(_Runs):
    """:class:`Prowess` for asyncio, with the same arguments. Cancelling a task cancels its
    run::

        async with AsyncProwess() as client:
            result = await client.run("openai/gpt-5", "Hello")
            async for event in client.stream("openai/gpt-5", "Make me a bouncing ball"):
                print(event)
    """

    _opening: asyncio.Lock | None = None

    async def run(self, model: str, prompt: Prompt, **options: Unpack[RunOptions]) -> RunResult:
        """Runs to the end, and returns the result."""
        async with self.stream(model, prompt, **options) as stream:
            return await stream.result()

    def stream(self, model: str, prompt: Prompt, **options: Unpack[RunOptions]) -> AsyncRunStream:
        """The events of a run, which starts with the first of them."""
        request = _request(model, prompt, **options)

        async def start() -> _native.Run:
            return await (await self._opened()).run(*request).start()

        return AsyncRunStream(start, EventReader(self._runner))

    async def _opened(self) -> _native.Runner:
        if self._held is None and not self._closed:
            self._opening = self._opening or asyncio.Lock()
            async with self._opening:
                if self._held is None:
                    self._take(await _native.Runner.open(self._local).start())
        return self._runner()

    async def aclose(self) -> None:
        """Lets go of it. Closing again does nothing."""
        self._closed = True
        native, self._held = self._held, None
        if native is not None:
            self._forgotten.detach()
            await native.close().start()

    async def __aenter__(self) -> AsyncProwess:
        await self._opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


_Given = tuple[_Request, "list[str | _native.Skill]", "list[str | tuple[str, bytes]]"]


def _request(
    model: str,
    prompt: Prompt,
    *,
    skills: Source | Iterable[Source] = (),
    files: InputFile | Iterable[InputFile] = (),
    system: str | None = None,
    max_tokens: int | None = None,
    container: str | None = None,
    code: bool = True,
    timeout: float | None = None,
    fetch: Fetch = Fetch(),
) -> _Given:
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    request = _Request(
        model=model,
        messages=json.dumps(messages),
        system=system,
        max_tokens=max_tokens,
        container=container,
        code=code,
        timeout=timeout,
        fetch=fetch,
    )
    return request, _sources(skills), _files(files)


def _files(files: InputFile | Iterable[InputFile]) -> list[str | tuple[str, bytes]]:
    one = isinstance(files, (str, os.PathLike)) or _is_pair(files)
    several: Iterable[Any] = [files] if one else files  # type: ignore[assignment]
    return [_file(file) for file in several]


def _is_pair(files: Any) -> bool:
    """Whether it is a name and its content, rather than several files."""
    is_two = isinstance(files, tuple) and len(files) == 2
    return is_two and isinstance(files[1], (bytes, bytearray, memoryview))


def _file(file: InputFile) -> str | tuple[str, bytes]:
    if isinstance(file, tuple):
        name, content = file
        return name, bytes(content)
    return os.path.expanduser(os.fspath(file))


def _path(path: AnyPath | None) -> str | None:
    return None if path is None else os.path.expanduser(os.fspath(path))


def _end(native: _native.Runner) -> None:
    native.close().wait()
