"""The events of a run, in order."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from . import _native
from ._errors import RunError
from ._events import EventReader, RunEvent, RunResult, TextDelta

if TYPE_CHECKING:
    from types import TracebackType


class RunStream:
    """The events of a run. It goes on only while somebody iterates, and is cancelled when it
    is closed before its end::

        with client.stream("openai/gpt-5", "Make me a bouncing ball") as stream:
            for text in stream.text_stream:
                print(text, end="", flush=True)
        print(stream.result().usage)
    """

    def __init__(self, run: _native.Run, reader: EventReader) -> None:
        self._run: _native.Run | None = run
        self._reader = reader

    def __iter__(self) -> Iterator[RunEvent]:
        return self

    def __next__(self) -> RunEvent:
        while self._run is not None:
            try:
                event = self._run.next().wait()
            except BaseException:
                # Also for Ctrl-C. Without a reference, the run is cancelled.
                self._run = None
                raise
            if event is None:
                self._run = None
            elif (made := self._reader.read(json.loads(event))) is not None:
                return made
        raise StopIteration

    @property
    def text_stream(self) -> Iterator[str]:
        """Only the text, as it comes."""
        return (event.text for event in self if isinstance(event, TextDelta))

    def result(self) -> RunResult:
        """Runs to the end, and returns the result."""
        for _ in self:
            pass
        return _result(self._reader)

    def close(self) -> None:
        """Cancels the run, unless it has ended. Closing again does nothing."""
        run, self._run = self._run, None
        if run is not None:
            run.close().wait()

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncRunStream:
    """The events of a run, which starts with the first of them::

        async with client.stream("openai/gpt-5", "Make me a bouncing ball") as stream:
            async for text in stream.text_stream:
                print(text, end="", flush=True)
        print((await stream.result()).usage)
    """

    def __init__(self, start: Callable[[], Awaitable[_native.Run]], reader: EventReader) -> None:
        self._start: Callable[[], Awaitable[_native.Run]] | None = start
        self._run: _native.Run | None = None
        self._reader = reader

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        return self

    async def __anext__(self) -> RunEvent:
        await self._started()
        while self._run is not None:
            try:
                event = await self._run.next().start()
            except BaseException:
                # Also for a task that is cancelled. Without a reference, the run is, too.
                self._run = None
                raise
            if event is None:
                self._run = None
            elif (made := self._reader.read(json.loads(event))) is not None:
                return made
        raise StopAsyncIteration

    async def _started(self) -> None:
        start, self._start = self._start, None
        if start is not None:
            self._run = await start()

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """Only the text, as it comes."""
        return (event.text async for event in self if isinstance(event, TextDelta))

    async def result(self) -> RunResult:
        """Runs to the end, and returns the result."""
        async for _ in self:
            pass
        return _result(self._reader)

    async def aclose(self) -> None:
        """Cancels the run, unless it has ended. Closing again does nothing."""
        self._start = None
        run, self._run = self._run, None
        if run is not None:
            await run.close().start()

    async def __aenter__(self) -> AsyncRunStream:
        await self._started()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _result(reader: EventReader) -> RunResult:
    if reader.result is None:
        raise RunError("the run was closed before its end, and has no result", "run-closed")
    return reader.result
