"""Measures what LiteLLM's hook for skills costs before a model is called.

Takes the archives of the skills. For each number read it calls the hook so often, each
time with a new request that names them all, and prints the processor time in
nanoseconds, of the whole process, and how many tools the request had in the end.

Only the database is not its own: it gives rows as Prisma does, archives in base64, and
is asked once, since the hook's cache holds for a minute."""

import asyncio
import base64
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from pydantic import BaseModel

from litellm.caching.caching import DualCache
from litellm.llms.litellm_proxy.skills import handler
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.common_utils.resource_ownership import get_primary_resource_owner_scope
from litellm.proxy.hooks.litellm_skills.main import SkillsInjectionHook

caller = UserAPIKeyAuth(user_id="bench")


class Row(BaseModel):
    skill_id: str
    display_title: str
    description: str
    instructions: str | None = None
    source: str = "custom"
    latest_version: str | None = None
    file_content: str
    file_name: str = "skill.zip"
    file_type: str = "application/zip"
    created_by: str | None = get_primary_resource_owner_scope(caller)


def row(path):
    return Row(
        skill_id=f"litellm_skill_{path.stem}",
        display_title=path.stem,
        description=f"Reads tables and writes them into sheets, as {path.stem} does.",
        file_content=base64.b64encode(path.read_bytes()).decode(),
    )


class Table:
    async def find_unique(self, where):
        return rows[where["skill_id"]]


async def no_client():
    return None


def request():
    skills = [{"type": "custom", "skill_id": id} for id in rows]
    return {
        "model": "hero",
        "max_tokens": 1000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Make a sheet of it."}],
        "container": {"skills": skills},
    }


async def measure(count):
    requests = [request() for _ in range(count)]
    start = time.process_time_ns()
    for data in requests:
        await hook.async_pre_call_hook(caller, cache, data, "anthropic_messages")
        tools = len(data["tools"])
        # What it holds of one request is not held during the next.
        data.clear()
    return time.process_time_ns() - start, tools


rows = {found.skill_id: found for found in map(row, map(Path, sys.argv[1:]))}
handler.SkillsRepository = lambda client: SimpleNamespace(table=Table())
handler.LiteLLMSkillsHandler._get_prisma_client = staticmethod(no_client)
hook, cache = SkillsInjectionHook(), DualCache()
for line in sys.stdin:
    print(*asyncio.run(measure(int(line))), flush=True)
