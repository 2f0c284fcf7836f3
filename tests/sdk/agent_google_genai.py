"""Google's own client, which lists and calls the tools of an MCP session by itself: with the
tools of an MCP server, streamed and whole, and with a skill that the request names."""

import httpx2
from google import genai
from google.genai import types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agents_common import CONTAINER, HEADERS, KEY, TASK, URL, each, works

client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL))


async def whole(model, config):
    answer = await client.aio.models.generate_content(model=model, contents=TASK, config=config)
    return answer.text


async def streamed(model, config):
    text = ""
    async for chunk in await client.aio.models.generate_content_stream(model=model, contents=TASK, config=config):
        text += chunk.text or ""
    return text


async def attempt(wire, model):
    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        async with Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as mcp:
            # A `GenerateContentConfig` would be copied, and with it the session, which cannot be.
            config = {"tools": [mcp.session]}
            works(wire, model, "mcp", await streamed(model, config))
            works(wire, model, "mcp whole", await whole(model, config))
    named = types.HttpOptions(extra_body={"container": CONTAINER})
    works(wire, model, "skill", await streamed(model, types.GenerateContentConfig(http_options=named)))


each(attempt)
