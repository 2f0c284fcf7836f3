"""The program `prowess`, which the wheel brings along."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from prowess._binary import find_binary


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True)


def test_the_program_is_on_the_search_path_of_the_environment() -> None:
    assert find_binary() == Path(sys.executable).with_name("prowess")
    shown = run(str(find_binary()), "--version")
    assert shown.stdout.startswith(f"prowess {version('prowess')} (")


def test_the_module_runs_the_program_and_returns_its_exit_code() -> None:
    shown = run(sys.executable, "-m", "prowess", "--version")
    assert shown.stdout == run(str(find_binary()), "--version").stdout
    assert run(sys.executable, "-m", "prowess", "--wrong").returncode == 2


def test_a_program_that_was_deleted_is_named() -> None:
    deleted = (
        "import runpy, prowess._binary as binary\n"
        "binary.find_binary = lambda: binary.Path('/no/prowess')\n"
        "runpy.run_module('prowess', run_name='__main__')\n"
    )
    failed = run(sys.executable, "-c", deleted)
    assert failed.returncode == 1
    assert "cannot start /no/prowess" in failed.stderr
