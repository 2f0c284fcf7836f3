"""Builds the wheel: maturin's work, after that of one small program.

The sandbox starts a launcher that must be a plain program and not a Python. It is a
binary of this workspace, and travels in the wheel beside the module that starts it.
"""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import (  # noqa: F401  (hooks that need nothing more)
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = Path(__file__).resolve().parent
LAUNCHER = "prowess-launcher"


def _profile() -> str:
    """The profile that maturin will use: `release`, unless MATURIN_PEP517_ARGS says else."""
    words = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    if "--profile" in words:
        return words[words.index("--profile") + 1]
    return "release"


def _build_launcher() -> None:
    command = [os.environ.get("CARGO", "cargo"), "build", "--package", LAUNCHER, "--bin", LAUNCHER]
    command += ["--profile", _profile(), "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise RuntimeError(f"the sandbox's launcher does not build: {shlex.join(command)}")
    place = HERE / "prowess" / LAUNCHER
    shutil.copy2(_executable(built.stdout), place.with_suffix(".new"))
    place.with_suffix(".new").replace(place)


def _executable(messages: str) -> str:
    """Where cargo put the program, by what it says itself."""
    for line in messages.splitlines():
        made = json.loads(line)
        if made.get("executable") and made["target"]["name"] == LAUNCHER:
            return made["executable"]
    raise RuntimeError(f"cargo built no {LAUNCHER}")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _build_launcher()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _build_launcher()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
