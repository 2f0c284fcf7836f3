"""What the tests of both packages share: skills to read, places to read them from."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

GREETER = {
    "SKILL.md": """---
name: greeter
description: Greets people. Use when someone is to be greeted.
license: MIT
compatibility: Python 3
allowed-tools: Read Bash(git diff *)
metadata: {author: somebody}
tools:
  greet:
    description: Greets someone.
    script: scripts/greet.py
    args:
      who: {type: string, description: Whom to greet.}
      style: {type: string, enum: [warm, cool], default: warm}
---
Read style.md, then greet.
""",
    "style.md": "Always be kind.\n",
    "scripts/greet.py": """
import sys
who, style = sys.argv[1:]
open('/mnt/data/card.txt', 'w').write(f'Dear {who}')
print(f'Hello, {who} ({style})')
""",
}


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files of a skill, and returns its folder."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def running(argument: str) -> bool:
    """Whether any process of this machine, sandboxed or not, has this argument."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument in place.read_text().split("\0"):
                return True
        except OSError:
            continue
    return False


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one test is found by the next, and nothing of the user's is touched."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def greeter(tmp_path: Path) -> Path:
    return write(tmp_path / "skills" / "greeter", GREETER)


@pytest.fixture
def server() -> str:
    """The server that the test suite starts, with a model that follows a script."""
    return os.environ["PROWESS_TEST_URL"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL by which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()
