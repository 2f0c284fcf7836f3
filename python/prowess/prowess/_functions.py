"""The four verbs of stored skills, for those who need only one of them.

Each means the server of ``base_url`` (``PROWESS_URL``, else the usual one of this machine),
or, with ``store``, a folder of this machine or a :class:`Store` that is open.
"""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Union

from ._skill import Skill
from ._stored import AnyPath, Client, Store, StoredSkill

Where = Union[str, "os.PathLike[str]", Store]


def create_skill(
    source: AnyPath | Skill,
    *,
    title: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> StoredSkill:
    """Stores a skill as a new one with its first version."""
    with _place(base_url, api_key, store) as place:
        return place.create_skill(source, title=title)


def list_skills(
    query: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> list[StoredSkill]:
    """All skills, newest first, or those that fit a query, best first."""
    with _place(base_url, api_key, store) as place:
        return place.list_skills(query)


def get_skill(
    skill: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> StoredSkill:
    """One skill, by its id or its name."""
    with _place(base_url, api_key, store) as place:
        return place.get_skill(skill)


def delete_skill(
    skill: str,
    version: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> None:
    """Deletes a skill with all its versions, or one version of it."""
    with _place(base_url, api_key, store) as place:
        place.delete_skill(skill, version)


async def acreate_skill(
    source: AnyPath | Skill,
    *,
    title: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> StoredSkill:
    """``create_skill``, without holding up the event loop."""
    async with await _aplace(base_url, api_key, store) as place:
        return await place.acreate_skill(source, title=title)


async def alist_skills(
    query: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> list[StoredSkill]:
    """``list_skills``, without holding up the event loop."""
    async with await _aplace(base_url, api_key, store) as place:
        return await place.alist_skills(query)


async def aget_skill(
    skill: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> StoredSkill:
    """``get_skill``, without holding up the event loop."""
    async with await _aplace(base_url, api_key, store) as place:
        return await place.aget_skill(skill)


async def adelete_skill(
    skill: str,
    version: str | None = None,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    store: Where | None = None,
) -> None:
    """``delete_skill``, without holding up the event loop."""
    async with await _aplace(base_url, api_key, store) as place:
        await place.adelete_skill(skill, version)


def _place(
    base_url: str | None, api_key: str | None, store: Where | None
) -> AbstractContextManager[Client | Store]:
    if store is None:
        return Client(base_url, api_key)
    # One that was open before stays open.
    return nullcontext(store) if isinstance(store, Store) else Store(store)


async def _aplace(
    base_url: str | None, api_key: str | None, store: Where | None
) -> AbstractAsyncContextManager[Client | Store]:
    if store is None:
        return Client(base_url, api_key)
    return nullcontext(store) if isinstance(store, Store) else await Store.open(store)
