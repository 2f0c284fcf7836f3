"""An agent on the MCP Python SDK: lists tools, loads a skill, calls the tool that appears,
reads the file it made, a prompt, a resource and the skills extension.

`PROWESS_MCP_URL` names a server; without it, the command in the arguments is started."""

import asyncio
import hashlib
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import BlobResourceContents, Request, Result


def server(closing):
    url = os.environ.get("PROWESS_MCP_URL")
    if url is None:
        return StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    key = os.environ["PROWESS_API_KEY"]
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    closing.append(http)
    return streamable_http_client(url, http_client=http)


class AnyResult(Result):
    model_config = {"extra": "allow"}


async def talk(mode):
    closing = []
    async with Client(server(closing), mode=mode) as client:
        print("protocol", client.protocol_version)
        print("skills", (client.server_capabilities.extensions or {}).get("io.modelcontextprotocol/skills"))
        names = [tool.name for tool in (await client.list_tools()).tools]
        print("tools", names)
        loaded = await client.call_tool("load_skill", {"name": "bouncing-ball"})
        assert not loaded.is_error, loaded
        print("loaded", loaded.content[0].text.splitlines()[0])
        tools = (await client.list_tools(cache_mode="bypass")).tools
        print("new", [tool.name for tool in tools if tool.name not in names])
        made = await client.call_tool("bouncing_ball__make_gif", {"output": "ball.gif", "size": 32, "frames": 4})
        assert not made.is_error, made
        print("content", [block.type for block in made.content])
        link = next(block for block in made.content if block.type == "resource_link")
        gif = (await client.read_resource(link.uri)).contents[0]
        assert isinstance(gif, BlobResourceContents), gif
        print("file", link.uri, gif.mime_type)
        resources = (await client.list_resources()).resources
        print("resources", [str(one.uri) for one in resources])
        prompt = await client.get_prompt("csv-summary", {"task": "Sum it up."})
        print("prompt", prompt.messages[0].content.text.splitlines()[-1])
        request = Request(method="skills/list", params={})
        listed = await client.session.send_request(request, AnyResult)
        for skill in listed.skills:
            for file in skill["resources"]:
                content = (await client.read_resource(file["uri"])).contents[0]
                data = content.text.encode()
                assert file["size"] == len(data), file
                assert file["digest"] == "sha256:" + hashlib.sha256(data).hexdigest(), file
            print("skill", skill["uri"], len(skill["resources"]), "files as listed")
    for http in closing:
        await http.aclose()


for mode in ["legacy", "auto"]:
    asyncio.run(talk(mode))
