"""Builds the wheel: maturin's work, after that of the binary `prowess`.

The wheel has the whole program beside the module: it lands on the search path, and the
module's sandbox starts it, because its launcher must be a plain program and not a Python.
PROWESS_BINARY names a binary that was built before.
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
SCRIPTS = HERE / "prowess.data" / "scripts"
# maturin refuses to do anything, even to write metadata, before it exists.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def _profile() -> str:
    """The profile that maturin will use: `release`, unless MATURIN_PEP517_ARGS says else."""
    words = shlex.split(os.environ.get("MATURIN_PEP517_ARGS", ""))
    if "--profile" in words:
        return words[words.index("--profile") + 1]
    return "release"


def _build_binary() -> str:
    command = [os.environ.get("CARGO", "cargo"), "build", "--package", "prowess-cli"]
    command += ["--bin", "prowess", "--profile", _profile()]
    command += ["--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise RuntimeError(f"the binary does not build: {shlex.join(command)}")
    return _executable(built.stdout)


def _executable(messages: str) -> str:
    """Where cargo put the program, by what it says itself."""
    for line in messages.splitlines():
        made = json.loads(line)
        if made.get("executable") and made["target"]["name"] == "prowess":
            return made["executable"]
    raise RuntimeError("cargo built no prowess")


def _place_binary() -> None:
    """Puts the binary where maturin finds it, in one step: a build may run beside another."""
    binary = os.environ.get("PROWESS_BINARY") or _build_binary()
    new = SCRIPTS.parent.with_name(f"prowess-{os.getpid()}.new")
    shutil.copyfile(binary, new)
    new.chmod(0o755)
    new.replace(SCRIPTS / "prowess")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _place_binary()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _place_binary()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
