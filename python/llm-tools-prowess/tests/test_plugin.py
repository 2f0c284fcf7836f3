"""`llm` with the plugin, as people use it: the program, against a model behind a server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import llm
import prowess
import pytest
from click.testing import CliRunner
from conftest import GREETER, write
from llm.cli import cli
from llm_tools_prowess import Skills, SkillsError

LLM = Path(sys.executable).with_name("llm")

DRAW = """
import struct, sys, zlib
size = int(sys.argv[1])
def chunk(kind, data):
    body = kind + data
    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
head = chunk(b'IHDR', struct.pack('>IIBBBBB', size, size, 8, 2, 0, 0, 0))
rows = zlib.compress((b'\\0' + b'\\xff\\0\\0' * size) * size)
png = b'\\x89PNG\\r\\n\\x1a\\n' + head + chunk(b'IDAT', rows) + chunk(b'IEND', b'')
open('/mnt/data/red.png', 'wb').write(png)
print('drawn')
"""

PAINTER: dict[str, str | bytes] = {
    "SKILL.md": """---
name: painter
description: Draws pictures. Use when something is to be drawn.
tools:
  draw:
    description: Draws a square.
    script: scripts/draw.py
    args: {size: {type: integer, description: In pixels.}}
---
Read style.md. Use the tool draw.
""",
    "style.md": "Only red.\n",
    "scripts/draw.py": DRAW,
}


@pytest.fixture
def painter(tmp_path: Path) -> Path:
    return write(tmp_path / "skills" / "painter", PAINTER)


class Desk:
    """A user's folder of `llm`, and a road to the model on which requests are seen."""

    def __init__(self, home: Path, requests: list[dict[str, Any]], url: str) -> None:
        self.home = home
        self.requests = requests
        home.mkdir()
        models = [
            {"model_id": name, "model_name": "stage/painter", "api_base": f"{url}/v1"}
            | {"supports_tools": True, "vision": True, "responses": responses}
            for name, responses in [("chat", False), ("responses", True)]
        ]
        # JSON is YAML.
        (home / "extra-openai-models.yaml").write_text(json.dumps(models))

        self.environment = {"LLM_USER_PATH": str(home), "OPENAI_API_KEY": "none"}

    def program(self, *words: str) -> str:
        """What the program prints, started by itself."""
        environment = {**self.environment, "HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([LLM, *words], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def llm(self, *words: str, fails: bool = False) -> str:
        """The same inside of this process, which is quicker; or, if it is to fail, why."""
        ran = CliRunner().invoke(cli, words, env=self.environment)
        assert (ran.exit_code != 0) is fails, ran.output
        return ran.stderr if fails else ran.stdout


@pytest.fixture
def desk(tmp_path: Path, server: str) -> Iterator[Desk]:
    requests: list[dict[str, Any]] = []

    class Road(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            requests.append(json.loads(body))
            onward = urllib.request.Request(server + self.path, body, method="POST")
            onward.add_header("content-type", "application/json")
            with urllib.request.urlopen(onward) as answer:
                content = answer.read()
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers["content-type"])
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    road = ThreadingHTTPServer(("127.0.0.1", 0), Road)
    threading.Thread(target=road.serve_forever, daemon=True).start()
    yield Desk(tmp_path / "home", requests, f"http://127.0.0.1:{road.server_port}")
    road.shutdown()
    road.server_close()


def spec(sources: object, **options: object) -> str:
    return f"Skills({json.dumps({'sources': str(sources), 'reduced': True, **options})})"


def tools_of(request: dict[str, Any]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in request["tools"]]


@pytest.mark.parametrize(
    ("model", "more"),
    [("chat", []), ("chat", ["--async"]), ("responses", ["--async"]), ("responses", ["--no-stream"])],
)
def test_a_model_loads_a_skill_reads_a_file_and_calls_the_skills_tool(
    desk: Desk, painter: Path, model: str, more: list[str]
) -> None:
    said = desk.program("-m", model, "-T", spec(painter), "Draw a square", "--no-log", *more)
    assert said == "Here is your picture.\n"
    assert len(desk.requests) == 4
    # The skill's own tool is there from the first request on, and the list never changes.
    offered = {tuple(tools_of(request)) for request in desk.requests}
    assert offered == {("Skills_load_skill", "Skills_painter__draw")}
    told = json.dumps(desk.requests[-1])
    assert "Read style.md. Use the tool draw." in told and "Only red." in told
    assert "[red.png is attached]" in told and "data:image/png;base64," in told


def test_a_skill_may_be_a_zip_or_a_url(
    desk: Desk, painter: Path, tmp_path: Path, site: tuple[Path, str]
) -> None:
    packed = prowess.Skill(painter).to_zip()
    (tmp_path / "painter.zip").write_bytes(packed)
    folder, url = site
    (folder / "painter.zip").write_bytes(packed)
    by_url = spec(f"{url}/painter.zip", allow_private=True)
    for source, more in [(spec(tmp_path / "painter.zip"), []), (by_url, []), (by_url, ["--async"])]:
        said = desk.program("-m", "chat", "-T", source, "Draw a square", "--no-log", *more)
        assert said == "Here is your picture.\n"


def test_made_files_are_saved_where_that_was_asked_for(
    desk: Desk, painter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = spec(painter, out="made")
    desk.llm("-m", "chat", "-T", source, "Draw a square", "--no-log")
    made = tmp_path / "made" / "red.png"
    assert made.read_bytes().startswith(b"\x89PNG")
    assert f"[red.png is saved as {made}]" in json.dumps(desk.requests[-1])


def test_files_can_be_given_to_the_skills(painter: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name\nAda\n")
    skills = Skills(painter, files=[str(tmp_path / "people.csv")], code=True, reduced=True)
    assert skills._toolbox.list_files() == ["people.csv"]
    with pytest.raises(SkillsError, match="missing.csv"):
        Skills(painter, files="missing.csv", reduced=True)
    with pytest.raises(SkillsError, match="have one name"):
        Skills(painter, files=["a/people.csv", "b/people.csv"], reduced=True)


def test_a_picture_of_a_skill_is_shown_and_other_bytes_are_only_named(painter: Path) -> None:
    write(painter, {"look.png": b"\x89PNG\r\n\x1a\n\0", "data.bin": b"\0\1\2"})
    skills = Skills(painter, reduced=True)

    def read(path: str) -> llm.ToolOutput:
        asked = llm.ToolCall("Skills_load_skill", {"name": "painter", "path": path})
        return asyncio.run(skills._call(asked))

    (shown,) = read("look.png").attachments
    assert (shown.type, shown.content) == ("image/png", b"\x89PNG\r\n\x1a\n\0")
    data = read("data.bin")
    assert data.attachments == [] and "3 bytes" in str(data.output)


def test_what_a_model_cannot_be_shown_is_not_sent_and_the_model_is_told(
    desk: Desk, painter: Path
) -> None:
    draw = DRAW.replace("red.png", "red.txt").replace("'drawn'", "'drawn without a picture'")
    (painter / "scripts" / "draw.py").write_text(draw.replace("b'\\x89PNG", "b'text"))
    said = desk.llm("-m", "chat", "-T", spec(painter), "Draw a square", "--no-log")
    assert "red.txt is not kept: that takes `out`" in said
    (painter / "scripts" / "draw.py").write_text(DRAW.replace("'drawn'", "'drawn without a picture'"))
    shown = spec(painter, attach=False)
    assert "red.png is not kept" in desk.llm("-m", "chat", "-T", shown, "Draw a square", "--no-log")
    assert "data:image/png" not in json.dumps(desk.requests)


def test_a_conversation_goes_on_with_the_same_skills_from_anywhere(
    desk: Desk, painter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk.llm("-m", "chat", "-T", spec("skills/painter"), "Draw a square")
    monkeypatch.chdir("/")
    assert desk.llm("-c", "Draw another") == "Here is another.\n"
    assert "[red.png is attached]" in json.dumps(desk.requests[-1])


def test_nothing_that_is_logged_is_secret_and_all_of_it_is_plain(desk: Desk, painter: Path) -> None:
    desk.llm("-m", "chat", "-T", spec(painter), "Draw a square")
    logged = json.loads(desk.llm("logs", "--json", "-n", "1"))
    assert logged and "Skills_painter__draw" in json.dumps(logged)


def test_two_toolboxes_do_not_take_each_others_names(desk: Desk, painter: Path, greeter: Path) -> None:
    both = ["-T", spec(painter), "-T", spec(greeter)]
    assert desk.llm("-m", "chat", *both, "Which tools", "--no-log") == "Two ways to load skills.\n"
    assert "Skills_greeter__greet" in tools_of(desk.requests[0])


def test_a_source_that_cannot_be_had_is_told_in_one_line(desk: Desk, tmp_path: Path) -> None:
    for source in [tmp_path / "missing", "http://127.0.0.1:1/x.zip"]:
        why = desk.llm("-m", "chat", "-T", spec(source), "Draw", fails=True)
        assert why.startswith("Error: ") and str(source) in why and len(why.splitlines()) == 1
    assert desk.requests == [], "the model is not asked without its tools"


def test_the_tools_can_be_listed_and_the_arguments_read(desk: Desk, painter: Path) -> None:
    listed = desk.llm("tools", spec(painter))
    assert "Skills_load_skill(" in listed and "Skills_painter__draw(" in listed
    assert "sources: a folder, an archive or a URL" in desk.llm("tools")


def test_where_too_many_skills_have_tools_one_tool_calls_them_all(tmp_path: Path) -> None:
    for number in range(25):
        name = f"greeter-{number}"
        files = {**GREETER, "SKILL.md": GREETER["SKILL.md"].replace("greeter", name)}
        write(tmp_path / "many" / name, files)
    skills = Skills(str(tmp_path / "many"), reduced=True)
    tools = {tool.name: tool for tool in skills.tools()}
    assert list(tools) == ["Skills_load_skill", "Skills_call_skill_tool"]

    def call(tool: str, /, **arguments: Any) -> str:
        implementation = tools[tool].implementation
        assert implementation is not None
        asked = llm.ToolCall(tool, arguments)
        return asyncio.run(implementation(llm_tool_call=asked, **arguments)).output

    loaded = call("Skills_load_skill", name="greeter-3")
    assert '"name": "greeter_3__greet"' in loaded and "Skills_call_skill_tool" in loaded
    greeted = call("Skills_call_skill_tool", tool="greeter_3__greet", arguments={"who": "Ada"})
    assert greeted.startswith("Hello, Ada (warm)")


def test_a_long_name_of_a_tool_still_fits(tmp_path: Path) -> None:
    name = "n" * 60
    files = {**GREETER, "SKILL.md": GREETER["SKILL.md"].replace("greeter", name)}
    skills = Skills(str(write(tmp_path / name, files)), reduced=True)
    shown = [tool.name for tool in skills.tools()]
    assert all(len(name) <= 64 and name.startswith("Skills_") for name in shown)
    assert len(set(shown)) == 2
