"""A model is run with skills: in this process, and on a server, with the same results."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import prowess
import pytest
from conftest import running
from prowess import (
    AsyncProwess,
    Client,
    Fetch,
    FileCreated,
    Prowess,
    RunEnded,
    RunError,
    RunEvent,
    Skill,
    SkillLoaded,
    Store,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnStarted,
)

CONFIG = Path(__file__).with_name("prowess.toml")
MODEL = "stage/hero"


@pytest.fixture(params=["here", "server"])
def where(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def arguments(where: str, server: str, tmp_path: Path) -> dict[str, str | Path]:
    if where == "server":
        return {"base_url": server}
    return {"config": CONFIG, "data_dir": tmp_path / "data"}


@pytest.fixture
def client(arguments: dict[str, str | Path]) -> Iterator[Prowess]:
    with Prowess(**arguments) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture
def store(where: str, server: str, tmp_path: Path) -> Iterator[Client | Store]:
    """What the runs find stored skills in."""
    with Client(server) if where == "server" else Store(tmp_path / "data") as store:
        yield store


def test_a_skill_is_used_and_its_file_comes_back(
    client: Prowess, greeter: Path, tmp_path: Path
) -> None:
    result = client.run(MODEL, "Greet Ada", skills=[greeter])
    assert result.text == "There is a skill for it.\nAda was greeted."
    assert result.stop_reason == "end_turn" and result.model
    assert result.usage.input_tokens > 0 and result.usage.output_tokens > 0
    assert result.run_id is not None and result.run_id.startswith("run_")
    (card,) = result.files
    assert (card.name, card.size, card.read()) == ("card.txt", 8, b"Dear Ada")
    assert card.save(tmp_path / "made" / "ada.txt").read_text() == "Dear Ada"
    assert card.save(tmp_path) == tmp_path / "card.txt"
    precious = tmp_path / "precious"
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "card.txt").symlink_to(precious)
    assert card.save(tmp_path / "links").read_text() == "Dear Ada" and not precious.exists()
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == ["card.txt"]


def test_events_come_one_by_one_with_their_types(
    client: Prowess, where: str, greeter: Path
) -> None:
    with client.stream(MODEL, "Greet Ada", skills=greeter) as stream:
        events: list[RunEvent] = list(stream)
    turns = [event.number for event in events if isinstance(event, TurnStarted)]
    assert turns == [1, 2, 3]
    said = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(said) == "There is a skill for it.Ada was greeted."
    started = [event for event in events if isinstance(event, ToolStarted)]
    ended = [event for event in events if isinstance(event, ToolEnded)]
    load = "load_skill" if where == "here" else "text_editor_code_execution"
    assert [event.name for event in started] == [load, "greeter__greet"]
    assert started[1].input == {"who": "Ada"}
    assert [(event.id, event.name) for event in ended] == [(s.id, s.name) for s in started]
    assert not ended[1].is_error and ended[1].output.startswith("Hello, Ada (warm)")
    if where == "here":
        assert SkillLoaded("greeter") in events
        assert ended[1].skill == "greeter" and ended[1].seconds is not None
    (made,) = [event.file for event in events if isinstance(event, FileCreated)]
    last = events[-1]
    assert isinstance(last, RunEnded) and last.result == stream.result()
    assert last.result.files == [made]


def test_only_the_text_can_be_had(client: Prowess) -> None:
    with client.stream(MODEL, "hello", system="Do shout.", max_tokens=100) as stream:
        assert "".join(stream.text_stream) == "YOU SAID: hello"
    assert stream.result().text == "YOU SAID: hello"


def test_a_conversation_can_be_given(client: Prowess) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Two"},
        {"role": "user", "content": [{"type": "text", "text": "Three"}]},
    ]
    assert client.run(MODEL, messages).text == "You said: Three"
    wrongs: list[list[dict[str, Any]]] = [[], messages[:2], [{"role": "user"}]]
    for wrong in wrongs:
        with pytest.raises(prowess.ProwessError):
            client.run(MODEL, wrong, files=[("a", b"")])


def test_skills_are_named_by_folder_archive_url_object_name_and_id(
    client: Prowess,
    store: Client | Store,
    greeter: Path,
    site: tuple[Path, str],
    tmp_path: Path,
) -> None:
    folder, url = site
    archive = folder / "greeter.zip"
    archive.write_bytes(Skill(greeter).to_zip())
    stored = store.push_skill(greeter)
    skills: list[str | Path | Skill] = [archive, f"{url}/greeter.zip", Skill(greeter)]
    skills += ["greeter", stored.id, f"{stored.id}@1"]
    try:
        for skill in skills:
            fetch = Fetch(allow_private=True)
            result = client.run(MODEL, "Greet Ada", skills=[skill], fetch=fetch)
            assert result.text.endswith("Ada was greeted."), skill
    finally:
        store.delete_skill(stored.id)


def test_files_are_given_to_the_code(client: Prowess, greeter: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("noted")
    given: list[tuple[list[Path], Path | tuple[str, bytes]]] = [
        ([greeter], note),
        ([], ("note.txt", b"noted too")),
    ]
    for skills, file in given:
        result = client.run(MODEL, "Copy it", skills=skills, files=[file])
        assert result.text == "Copied."
        (copy,) = result.files
        assert copy.name == "copy.txt" and copy.read().startswith(b"noted")
    alone = client.run(MODEL, "Copy it", files=("note.txt", b"alone"))
    assert [file.read()[:5] for file in alone.files] == [b"alone"]
    for wrong in [tmp_path / "missing", tmp_path]:
        with pytest.raises(prowess.SourceError) as caught:
            client.run(MODEL, "Copy it", files=[wrong])
        assert caught.value.code == "file-unreadable"
    with pytest.raises(prowess.UsageError, match="files"):
        client.run(MODEL, "Copy it", files=[note], code=False)


def test_a_run_can_go_on_in_the_container_of_another(client: Prowess, greeter: Path) -> None:
    first = client.run(MODEL, "Greet Ada", skills=[greeter])
    assert first.container_id is not None
    second = client.run(MODEL, "Read the card", container=first.container_id)
    assert second.text == "It reads: Dear Ada" and second.container_id == first.container_id


def test_an_error_has_its_status_and_code(client: Prowess, greeter: Path) -> None:
    failures: list[tuple[str, str, list[str | Path], int, str | None]] = [
        ("stage-less/hero", "hello", [], 404, "model-not-found"),
        (MODEL, "hello", ["skill_missing"], 404, "skill-not-found"),
        (MODEL, "Fail", [greeter], 400, None),
    ]
    for model, prompt, skills, status, code in failures:
        with pytest.raises(RunError) as caught:
            client.run(model, prompt, skills=skills)
        assert caught.value.status == status, caught.value
        assert code is None or caught.value.code == code
        assert str(caught.value)
    with pytest.raises(prowess.SourceError) as missing:
        client.run(MODEL, "hello", skills=["no/such/folder"])
    assert missing.value.code == "source-not-found"
    with pytest.raises(TypeError, match="colour"):
        client.run(MODEL, "hello", colour="red")  # type: ignore[call-arg]
    with pytest.raises(prowess.UsageError, match="timeout"):
        client.run(MODEL, "hello", timeout=-1)


def test_a_run_that_takes_too_long_ends(client: Prowess, greeter: Path) -> None:
    seconds = f"703.{os.getpid()}"
    with pytest.raises(RunError) as caught:
        client.run(MODEL, f"Wait {seconds}", skills=[greeter], timeout=0.5)
    assert caught.value.code == "time-up"
    while running(seconds):
        pass


def test_a_run_that_is_closed_early_is_cancelled(client: Prowess, greeter: Path) -> None:
    seconds = f"704.{os.getpid()}"
    with client.stream(MODEL, f"Wait {seconds}", skills=[greeter]) as stream:
        assert isinstance(next(stream), TurnStarted)
    with pytest.raises(RunError) as caught:
        stream.result()
    assert caught.value.code == "run-closed"
    assert not running(seconds)


INTERRUPTED = """
import sys
from prowess import Prowess

model, skill, seconds, *arguments = sys.argv[1:]
named = dict(argument.split("=", 1) for argument in arguments)
with Prowess(**named) as client:
    try:
        client.run(model, f"Wait {seconds}", skills=[skill])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_cancels_a_run(
    arguments: dict[str, str | Path], where: str, greeter: Path
) -> None:
    seconds = f"705{where == 'here':d}.{os.getpid()}"
    named = [f"{name}={value}" for name, value in arguments.items()]
    words = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), MODEL, str(greeter), seconds]
    child = subprocess.Popen([*words, *named], stdout=subprocess.PIPE, text=True)
    # The program itself has the number in its arguments; only the sandbox sleeps for it.
    while not running_sleep(seconds):
        assert child.poll() is None
    os.kill(child.pid, signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert (said, child.returncode) == ("interrupted\n", 0)
    while running_sleep(seconds):
        pass


def running_sleep(seconds: str) -> bool:
    """Whether a process of this machine sleeps for so long."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_text().split("\0")[:2] == ["sleep", seconds]:
                return True
        except OSError:
            continue
    return False


def test_runs_can_be_awaited_side_by_side(
    arguments: dict[str, str | Path], greeter: Path
) -> None:
    async def main() -> None:
        async with AsyncProwess(**arguments) as client:  # type: ignore[arg-type]
            runs = [client.run(MODEL, f"number {n}") for n in range(3)]
            texts = [result.text for result in await asyncio.gather(*runs)]
            assert texts == [f"You said: number {n}" for n in range(3)]
            result = await client.run(MODEL, "Greet Ada", skills=[greeter])
            assert await result.files[0].aread() == b"Dear Ada"
            stream = client.stream(MODEL, "hello")
            assert [type(event) for event in [e async for e in stream]][-1] is RunEnded
            assert (await stream.result()).text == "You said: hello"
            async with client.stream(MODEL, "hello") as text:
                assert "".join([t async for t in text.text_stream]) == "You said: hello"
            with pytest.raises(RunError):
                await client.run(MODEL, "Fail", skills=[greeter])
        with pytest.raises(prowess.ProwessError, match="closed"):
            await client.run(MODEL, "hello")

    asyncio.run(main())


def test_a_cancelled_task_cancels_its_run(
    arguments: dict[str, str | Path], where: str, greeter: Path
) -> None:
    seconds = f"706{where == 'here':d}.{os.getpid()}"

    async def main() -> None:
        async with AsyncProwess(**arguments) as client:  # type: ignore[arg-type]
            task = asyncio.create_task(client.run(MODEL, f"Wait {seconds}", skills=[greeter]))
            while not running(seconds):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while running(seconds):
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_closed_client_says_so(client: Prowess, greeter: Path) -> None:
    result = client.run(MODEL, "Greet Ada", skills=[greeter])
    client.close()
    client.close()
    for call in (result.files[0].read, lambda: client.run(MODEL, "hello")):
        with pytest.raises(prowess.ProwessError) as caught:
            call()
        assert caught.value.code == "client-closed"


def test_the_place_of_runs_is_chosen_by_arguments_and_environment(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repr(Prowess()) == "<Prowess in this process>"
    with pytest.raises(prowess.UsageError, match="base_url"):
        Prowess(server, config=CONFIG)
    with pytest.raises(prowess.UsageError, match="network"):
        Prowess(network="example.com")
    with pytest.raises(prowess.UsageError) as broken:
        Prowess(config=tmp_path / "missing.toml").run(MODEL, "hello")
    assert broken.value.code == "config-unreadable"
    with pytest.raises(prowess.ServerError) as unreachable:
        Prowess("http://127.0.0.1:1").run(MODEL, "hello")
    assert unreachable.value.code == "server-unreachable"
    monkeypatch.setenv("PROWESS_URL", server)
    with Prowess() as client:
        assert repr(client) == f"<Prowess {server}>"
        assert client.run(MODEL, "hello").text == "You said: hello"
    with Prowess(config=CONFIG, data_dir=tmp_path / "data", sandbox=False) as client:
        assert client.run(MODEL, "hello").text == "You said: hello"
        with pytest.raises(RunError) as caught:
            client.run(MODEL, "Copy it", files=[("note.txt", b"")])
        assert caught.value.code == "sandbox-unavailable"
