"""Where the program `prowess` of this package is."""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path


@cache
def find_binary() -> Path:
    """The program that was installed with this module, or where it should be."""
    candidates = _candidates()
    there = (path for path in candidates if path.is_file() and os.access(path, os.X_OK))
    return next(there, candidates[0])


def _candidates() -> list[Path]:
    """What the installer recorded, then where programs usually go."""
    try:
        recorded = files("prowess") or []
    except PackageNotFoundError:
        recorded = []
    found = [
        Path(os.path.normpath(str(file.locate())))
        for file in recorded
        if file.name == "prowess" and file.parent.name == "bin"
    ]
    found.append(Path(sysconfig.get_path("scripts")) / "prowess")
    # `pip install --target` puts programs beside the packages.
    found.append(Path(__file__).resolve().parents[1] / "bin" / "prowess")
    return found
