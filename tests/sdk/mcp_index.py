"""Microsoft's agent framework: it finds skills over MCP by `skill://index.json` alone. The
command in the arguments is started."""

import asyncio
import os
import sys
import warnings

warnings.simplefilter("ignore")
from agent_framework import _skills
from mcp import Client, StdioServerParameters


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(server) as client:
        source = _skills.MCPSkillsSource(client=client)
        context = _skills.SkillsSourceContext(agent=None, session=None)
        for skill in await source.get_skills(context):
            text = await skill.get_content()
            print(skill.frontmatter.name, len(text), "characters")
            if skill.frontmatter.name == "bouncing-ball":
                script = await skill.get_resource("scripts/make_gif.py")
                print("script", len(await script.read()), "characters")


asyncio.run(main())
