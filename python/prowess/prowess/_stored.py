"""Stored skills: of a server, or of a folder of this machine, by the same verbs."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar, Union

from . import _native
from ._errors import StoreError
from ._skill import Fetch, Skill

if TYPE_CHECKING:
    from types import TracebackType

AnyPath = Union[str, "os.PathLike[str]"]
_Self = TypeVar("_Self", bound="_Verbs")


@dataclass(frozen=True)
class StoredSkill:
    """A stored skill."""

    id: str
    """``skill_…``, by which requests name it."""
    name: str
    description: str
    default_version: str
    """The version meant when none is named."""
    latest_version: str
    created_at: datetime

    @classmethod
    def _of(cls, told: dict[str, Any]) -> StoredSkill:
        return cls(**{**told, "created_at": _time(told["created_at"])})


@dataclass(frozen=True)
class SkillVersion:
    """A version of a stored skill. Versions never change."""

    id: str
    version: str
    """1, 2, 3, … in the skill."""
    description: str
    created_at: datetime

    @classmethod
    def _of(cls, told: dict[str, Any]) -> SkillVersion:
        return cls(**{**told, "created_at": _time(told["created_at"])})


@dataclass(frozen=True)
class _Upload:
    version_of: str | None = None
    named: bool = False
    title: str | None = None
    default: bool = False
    always: bool = False


class _Verbs:
    """What can be done with stored skills. A skill is named by its id, or by its name
    where only one has it."""

    _held: _native.Server | _native.Store | None

    @property
    def _open(self) -> _native.Server | _native.Store:
        if self._held is None:
            raise StoreError("the store was closed", "store-closed")
        return self._held

    def create_skill(
        self, source: AnyPath | Skill, *, title: str | None = None, fetch: Fetch = Fetch()
    ) -> StoredSkill:
        """Stores a skill as a new one with its first version. It is checked and scanned
        first: :class:`SkillError` has the problems."""
        skill = _checked(source, fetch)
        return _skill(self._open.push(skill, _Upload(title=title, always=True)).wait())

    async def acreate_skill(
        self, source: AnyPath | Skill, *, title: str | None = None, fetch: Fetch = Fetch()
    ) -> StoredSkill:
        """The same, without holding up the event loop."""
        skill = await _acheck(source, fetch)
        return _skill(await self._open.push(skill, _Upload(title=title, always=True)).start())

    def push_skill(
        self, source: AnyPath | Skill, *, default: bool = False, fetch: Fetch = Fetch()
    ) -> StoredSkill:
        """Stores a skill as a new version of the one of its name, or as a new one.
        Nothing is created when the latest version has the same files."""
        skill = _checked(source, fetch)
        return _skill(self._open.push(skill, _Upload(named=True, default=default)).wait())

    async def apush_skill(
        self, source: AnyPath | Skill, *, default: bool = False, fetch: Fetch = Fetch()
    ) -> StoredSkill:
        """The same, without holding up the event loop."""
        skill = await _acheck(source, fetch)
        return _skill(await self._open.push(skill, _Upload(named=True, default=default)).start())

    def create_version(
        self,
        skill: str,
        source: AnyPath | Skill,
        *,
        default: bool = False,
        fetch: Fetch = Fetch(),
    ) -> SkillVersion:
        """Makes a version of a skill; it must bear the skill's name."""
        upload = _Upload(version_of=skill, default=default, always=True)
        return _version(self._open.push(_checked(source, fetch), upload).wait())

    async def acreate_version(
        self,
        skill: str,
        source: AnyPath | Skill,
        *,
        default: bool = False,
        fetch: Fetch = Fetch(),
    ) -> SkillVersion:
        """The same, without holding up the event loop."""
        upload = _Upload(version_of=skill, default=default, always=True)
        return _version(await self._open.push(await _acheck(source, fetch), upload).start())

    def list_skills(self, query: str | None = None) -> list[StoredSkill]:
        """All skills, newest first, or those that fit a query, best first."""
        return _skills(self._open.list(query).wait())

    async def alist_skills(self, query: str | None = None) -> list[StoredSkill]:
        """The same, without holding up the event loop."""
        return _skills(await self._open.list(query).start())

    def get_skill(self, skill: str) -> StoredSkill:
        """One skill."""
        return StoredSkill._of(json.loads(self._open.get(skill).wait()))

    async def aget_skill(self, skill: str) -> StoredSkill:
        """The same, without holding up the event loop."""
        return StoredSkill._of(json.loads(await self._open.get(skill).start()))

    def list_versions(self, skill: str) -> list[SkillVersion]:
        """The versions of a skill, newest first."""
        return _versions(self._open.versions(skill).wait())

    async def alist_versions(self, skill: str) -> list[SkillVersion]:
        """The same, without holding up the event loop."""
        return _versions(await self._open.versions(skill).start())

    def set_default_version(self, skill: str, version: str) -> StoredSkill:
        """Makes a version the one that is meant when none is named."""
        return StoredSkill._of(json.loads(self._open.set_default(skill, version).wait()))

    async def aset_default_version(self, skill: str, version: str) -> StoredSkill:
        """The same, without holding up the event loop."""
        return StoredSkill._of(json.loads(await self._open.set_default(skill, version).start()))

    def load_skill(self, skill: str, version: str | None = None) -> Skill:
        """A version with all its files: to be read, or given to a ``Toolbox``. The default
        one when left out."""
        return Skill._of(self._open.load(skill, version).wait())

    async def aload_skill(self, skill: str, version: str | None = None) -> Skill:
        """The same, without holding up the event loop."""
        return Skill._of(await self._open.load(skill, version).start())

    def delete_skill(self, skill: str, version: str | None = None) -> None:
        """Deletes a skill with all its versions, or one version of it. When that is the
        last one, the skill is deleted."""
        self._open.delete(skill, version).wait()

    async def adelete_skill(self, skill: str, version: str | None = None) -> None:
        """The same, without holding up the event loop."""
        await self._open.delete(skill, version).start()

    def close(self) -> None:
        """Lets go of it. Closing again does nothing."""
        native, self._held = self._held, None
        if native is not None:
            native.close().wait()

    async def aclose(self) -> None:
        """The same, without holding up the event loop."""
        native, self._held = self._held, None
        if native is not None:
            await native.close().start()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Client(_Verbs):
    """The stored skills of a server.

    :param base_url: the server; ``PROWESS_URL`` when left out, else the usual one of this
        machine, ``http://127.0.0.1:4141``.
    :param api_key: the key; ``PROWESS_API_KEY`` when left out.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None) -> None:
        base_url = base_url or os.environ.get("PROWESS_URL") or None
        api_key = api_key or os.environ.get("PROWESS_API_KEY") or None
        self._held = _native.Server(base_url, api_key)

    def __repr__(self) -> str:
        native = self._held
        where = native.url() if isinstance(native, _native.Server) else "closed"
        return f"<Client {where}>"


class Store(_Verbs):
    """The stored skills of a folder: what a server stores in its data folder, without the
    server. A server may use the folder at the same time.

    :param folder: the data folder; made when it is missing.
    """

    def __init__(self, folder: AnyPath) -> None:
        self._held = _native.Store.open(os.fspath(folder)).wait()

    @classmethod
    async def open(cls, folder: AnyPath) -> Store:
        """The same as ``Store(folder)``, without holding up the event loop."""
        store = cls.__new__(cls)
        store._held = await _native.Store.open(os.fspath(folder)).start()
        return store


def _checked(source: AnyPath | Skill, fetch: Fetch) -> _native.Skill:
    return (source if isinstance(source, Skill) else Skill(source, fetch=fetch))._held


async def _acheck(source: AnyPath | Skill, fetch: Fetch) -> _native.Skill:
    if isinstance(source, Skill):
        return source._held
    return (await Skill.open(source, fetch=fetch))._held


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def _skill(pushed: str) -> StoredSkill:
    return StoredSkill._of(json.loads(pushed)["skill"])


def _version(pushed: str) -> SkillVersion:
    return SkillVersion._of(json.loads(pushed)["version"])


def _skills(told: str) -> list[StoredSkill]:
    return [StoredSkill._of(skill) for skill in json.loads(told)]


def _versions(told: str) -> list[SkillVersion]:
    return [SkillVersion._of(version) for version in json.loads(told)]
