"""Everything that waits can be awaited, and holds up nobody."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import prowess
import pytest
from conftest import running
from prowess import Fetch, Skill, Store, Toolbox


def test_calls_can_be_awaited_side_by_side(greeter: Path) -> None:
    async def main() -> None:
        async with await Toolbox.open(greeter, reduced=True) as toolbox:
            assert await toolbox.aload("greeter") == []
            await toolbox.awrite_file("given.txt", "given")
            assert await toolbox.alist_files() == ["given.txt"]
            greetings = [toolbox.acall("greeter__greet", {"who": str(n)}) for n in range(3)]
            results = await asyncio.gather(*greetings)
            said = [result.text.splitlines()[0] for result in results]
            assert said == ["Hello, 0 (warm)", "Hello, 1 (warm)", "Hello, 2 (warm)"]
            assert (await results[-1].files[0].aread()).startswith(b"Dear ")
            assert await toolbox.arefresh() is False

    asyncio.run(main())


def test_a_cancelled_call_ends_what_it_had_started(greeter: Path) -> None:
    seconds = f"700.{os.getpid()}"

    async def main() -> None:
        async with await Toolbox.open(greeter, code=True, reduced=True) as toolbox:
            command = {"command": f"sleep {seconds}"}
            task = asyncio.create_task(toolbox.acall("bash_code_execution", command))
            while not running(seconds):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while running(seconds):
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_errors_are_the_same_as_without_async(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(prowess.SourceError) as caught:
            await Skill.open(tmp_path / "missing")
        assert caught.value.code == "source-not-found"
        with pytest.raises(prowess.SourceError):
            await Toolbox.open(tmp_path)
        with pytest.raises(TypeError, match="colour"):
            await Toolbox.open(tmp_path, colour="red")
        with pytest.raises(prowess.ServerError) as unreachable:
            await prowess.alist_skills(base_url="http://127.0.0.1:1")
        assert unreachable.value.code == "server-unreachable"

    asyncio.run(main())


def test_a_skill_is_fetched_without_holding_up_the_server_of_the_same_loop(
    greeter: Path,
) -> None:
    """Were the loop held up, this would never end: the skill is served by the loop itself."""
    body = Skill(greeter).to_zip()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        source = f"http://127.0.0.1:{port}/greeter.zip"
        skill = await Skill.open(source, fetch=Fetch(allow_private=True))
        assert skill.name == "greeter"
        server.close()

    asyncio.run(main())


def test_the_verbs_of_a_store_can_be_awaited(greeter: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with await Store.open(tmp_path / "data") as store:
            made = await store.acreate_skill(greeter, title="Greets")
            assert await store.aget_skill("greeter") == made
            assert [skill.id for skill in await store.alist_skills("greet")] == [made.id]
            second = await store.acreate_version(made.id, greeter)
            assert [v.id for v in await store.alist_versions(made.id)][0] == second.id
            assert (await store.aset_default_version(made.id, "2")).default_version == "2"
            assert (await store.apush_skill(greeter)).latest_version == "2"
            assert (await store.aload_skill(made.id, "1")).digest == Skill(greeter).digest
            await store.adelete_skill(made.id)
        place = tmp_path / "data"
        made = await prowess.acreate_skill(greeter, store=place)
        assert await prowess.aget_skill(made.id, store=place) == made
        await prowess.adelete_skill(made.id, store=place)
        assert await prowess.alist_skills(store=place) == []

    asyncio.run(main())


ENDS_AT_ONCE = """
import asyncio, sys
from prowess import Skill

async def main():
    await asyncio.gather(*(Skill.open(sys.argv[1]) for _ in range(8)))

asyncio.run(main())
"""


def test_a_program_may_end_right_after_its_last_await(greeter: Path) -> None:
    # More programs at once than there are processors: the threads that gave the last
    # results are then often still at it when the interpreter ends.
    command = [sys.executable, "-c", ENDS_AT_ONCE, str(greeter)]
    for _ in range(4):
        programs = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(8)]
        for program in programs:
            errors = program.communicate(timeout=60)[1]
            assert program.returncode == 0, errors.decode()
