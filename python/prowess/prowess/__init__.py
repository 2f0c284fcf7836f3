"""Agent Skills for any model.

- :class:`Skill` reads a skill from a folder, an archive, a URL or a text.
- :class:`Toolbox` turns skills into tools that any model can call, and runs their code in a
  sandbox.
- :class:`Client` and :class:`Store` keep skills: on a server, or in a folder.

Everything that waits has an async twin: the same name with an ``a`` before it, and ``open``
for constructors.
"""

from ._errors import (
    Problem,
    ProwessError,
    SandboxError,
    ServerError,
    SkillError,
    SourceError,
    StoreError,
    ToolboxError,
    UsageError,
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
from ._skill import DeclaredTool, Fetch, Skill
from ._stored import Client, SkillVersion, Store, StoredSkill
from ._toolbox import Attached, File, Result, Shadowed, Tool, Toolbox

__all__ = [
    "Attached",
    "Client",
    "DeclaredTool",
    "Fetch",
    "File",
    "Problem",
    "ProwessError",
    "Result",
    "SandboxError",
    "ServerError",
    "Shadowed",
    "Skill",
    "SkillError",
    "SkillVersion",
    "SourceError",
    "Store",
    "StoreError",
    "StoredSkill",
    "Tool",
    "Toolbox",
    "ToolboxError",
    "UsageError",
    "acreate_skill",
    "adelete_skill",
    "aget_skill",
    "alist_skills",
    "create_skill",
    "delete_skill",
    "get_skill",
    "list_skills",
]
