"""One skill: a folder, an archive, a URL or a text, read and checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._errors import Problem

Profile = Literal["lenient", "strict", "upload"]


@dataclass(frozen=True)
class Fetch:
    """Options for sources that are URLs. Fetched content is stored in the user's cache
    folder (``PROWESS_CACHE_DIR``), and is fetched again when it is no longer fresh."""

    allow_private: bool = False
    """Fetch from private and local addresses too."""
    offline: bool = False
    """Make no request; use what is cached and fresh."""
    refresh: bool = False
    """Fetch anew, however fresh the cache is."""
    stale: bool = False
    """Use what is cached, however old, when a host does not answer."""
    cache: bool = True
    """Keep what was fetched."""
    pin: str | None = None
    """Take only content of this digest, as ``Skill.digest`` gives it."""


@dataclass(frozen=True)
class DeclaredTool:
    """A script that a skill declares as a tool of its own."""

    name: str
    """Its name inside the skill; a model calls it ``skill_name__tool``."""
    description: str
    """What it does, for the model."""
    script: str
    """The script that runs, inside the skill."""
    args: list[dict[str, Any]]
    """Its arguments in the order in which the script gets them: ``name``, ``type``,
    ``required`` and, if set, ``description``, ``enum``, ``default``."""


class Skill:
    """A skill that was read and checked.

    ``source`` is a folder with a SKILL.md, the SKILL.md itself, a ``.zip``, ``.skill`` or
    ``.tar.gz`` archive, a Markdown file, or a URL of any of them. What can be used is
    loaded; what deviates is in :attr:`problems`.

    Raises :class:`SourceError` when the source cannot be read or holds several skills, and
    :class:`SkillError` when what it holds is not a skill.
    """

    _held: _native.Skill
    _info: dict[str, Any]

    def __init__(self, source: str | os.PathLike[str], *, fetch: Fetch = Fetch()) -> None:
        self._take(_native.Skill.open(os.fspath(source), fetch).wait())

    @classmethod
    async def open(cls, source: str | os.PathLike[str], *, fetch: Fetch = Fetch()) -> Skill:
        """The same as ``Skill(source)``, without holding up the event loop."""
        return cls._of(await _native.Skill.open(os.fspath(source), fetch).start())

    @classmethod
    def from_text(cls, text: str) -> Skill:
        """A skill that is one SKILL.md, given as text. It may not declare tools, for it
        has no scripts."""
        return cls._of(_native.Skill.from_text(text))

    @classmethod
    def _of(cls, native: _native.Skill) -> Skill:
        skill = cls.__new__(cls)
        skill._take(native)
        return skill

    def _take(self, native: _native.Skill) -> None:
        self._held = native
        self._info = json.loads(native.info())

    @property
    def name(self) -> str:
        """Its name: a label, never a path."""
        return self._info["name"]

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self._info["description"]

    @property
    def license(self) -> str | None:
        """``license`` of the frontmatter."""
        return self._info.get("license")

    @property
    def compatibility(self) -> str | None:
        """``compatibility`` of the frontmatter."""
        return self._info.get("compatibility")

    @property
    def version(self) -> str | None:
        """``version``, or ``metadata.version``."""
        return self._info.get("version")

    @property
    def metadata(self) -> dict[str, Any]:
        """``metadata`` of the frontmatter, as written."""
        return self._info["metadata"]

    @property
    def frontmatter(self) -> dict[str, Any]:
        """All fields of the frontmatter, unknown ones included."""
        return self._info["frontmatter"]

    @property
    def allowed_tools(self) -> list[str] | None:
        """The patterns of ``allowed-tools``; ``None`` when the field is missing. Empty, too,
        when the field cannot be trusted: see :attr:`problems`."""
        said = self._info["allowed_tools"]
        if said == "unstated":
            return None
        return said["only"] if isinstance(said, dict) else []

    @property
    def requires(self) -> list[str]:
        """Skills that it needs, which are loaded before it."""
        return self._info["requires"]

    @property
    def tools(self) -> list[DeclaredTool]:
        """The tools it declares. Functions of a ``tools.py`` are known only in the
        sandbox: see ``Toolbox``."""
        names = ("name", "description", "script", "args")
        return [DeclaredTool(*(tool[name] for name in names)) for tool in self._info["tools"]]

    @property
    def has_python_tools(self) -> bool:
        """Whether it has a ``tools.py``, whose functions become tools when it is loaded."""
        return self._info["python_tools"]

    @property
    def digest(self) -> str:
        """The digest of all its files: the same files give the same digest."""
        return self._info["digest"]

    @property
    def problems(self) -> list[Problem]:
        """What deviates in it, though it can be used."""
        return self.validate("lenient")

    def validate(self, profile: Profile = "strict") -> list[Problem]:
        """What deviates by the rules of the standard (``strict``) or of the large hosts on
        upload (``upload``). It passes when none of them is an ``error``."""
        return [Problem._of(problem) for problem in json.loads(self._held.problems(profile))]

    def load_body(self) -> str:
        """Its instructions: the Markdown after the frontmatter."""
        return self._held.body()

    def list_files(self) -> list[str]:
        """The paths of all its files, sorted."""
        return self._held.files()

    def read_file(self, path: str) -> bytes:
        """The content of one of its files. Only what belongs to the skill can be read."""
        return self._held.read(path)

    def read_text(self, path: str) -> str:
        """The same, as text."""
        return self.read_file(path).decode("utf-8")

    def to_zip(self) -> bytes:
        """A zip of it, as the large hosts take it. The same files give the same bytes.

        Raises `SkillError` if a file of its folder, such as a link, could not be included."""
        return self._held.pack()

    def __repr__(self) -> str:
        return f"<Skill {self.name!r}: {len(self.list_files())} files>"
