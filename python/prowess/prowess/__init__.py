"""Agent Skills for any model.

- :class:`Skill` reads a skill from a folder, an archive, a URL or a text.
- :class:`Toolbox` turns skills into tools that any model can call, and runs their code in a
  sandbox.
- :class:`Prowess` and :class:`AsyncProwess` run a model with skills: in this process, or on a
  server.
- :func:`tool` makes a function of a ``tools.py`` a tool, as it does inside the sandbox.
- :class:`Client` and :class:`Store` keep skills: on a server, or in a folder.

Everything that waits has an async twin: the same name with an ``a`` before it, and ``open``
for constructors.
"""

from ._errors import (
    Problem,
    ProwessError,
    RunError,
    SandboxError,
    ServerError,
    SkillError,
    SourceError,
    StoreError,
    ToolboxError,
    UsageError,
)
from ._events import (
    FileCreated,
    LimitReached,
    RunEnded,
    RunEvent,
    RunFile,
    RunResult,
    SkillLoaded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnStarted,
    Usage,
)
from ._functions import (
    acreate_skill,
    adelete_skill,
    aget_skill,
    alist_skills,
    create_skill,
    delete_skill,
    get_skill,
    list_skills,
)
from ._runs import AsyncProwess, Prowess
from ._skill import DeclaredTool, Fetch, Skill
from ._stored import Client, SkillVersion, Store, StoredSkill
from ._stream import AsyncRunStream, RunStream
from ._tool import Context, tool
from ._toolbox import Attached, File, Result, Shadowed, Tool, Toolbox

__all__ = [
    "AsyncProwess",
    "AsyncRunStream",
    "Attached",
    "Client",
    "Context",
    "DeclaredTool",
    "Fetch",
    "File",
    "FileCreated",
    "LimitReached",
    "Problem",
    "Prowess",
    "ProwessError",
    "Result",
    "RunEnded",
    "RunError",
    "RunEvent",
    "RunFile",
    "RunResult",
    "RunStream",
    "SandboxError",
    "ServerError",
    "Shadowed",
    "Skill",
    "SkillError",
    "SkillLoaded",
    "SkillVersion",
    "SourceError",
    "Store",
    "StoreError",
    "StoredSkill",
    "TextDelta",
    "ThinkingDelta",
    "Tool",
    "ToolEnded",
    "ToolStarted",
    "Toolbox",
    "ToolboxError",
    "TurnStarted",
    "Usage",
    "UsageError",
    "acreate_skill",
    "adelete_skill",
    "aget_skill",
    "alist_skills",
    "create_skill",
    "delete_skill",
    "get_skill",
    "list_skills",
    "tool",
]
