"""LiteLLM's SDK, with each of the prefixes that people point at a gateway: with the tools of an
MCP server, by its own MCP client, and with a skill that the request names. `litellm_proxy/` has
the address as LiteLLM's own proxy has it, without `/v1`. Everything is streamed."""

import httpx2
import litellm
from litellm import experimental_mcp_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agents_common import CONTAINER, HEADERS, KEY, TASK, URL, each, works

litellm.telemetry = False
litellm.suppress_debug_info = True
BASES = {"openai": f"{URL}/v1", "litellm_proxy": URL, "anthropic": URL}


async def stream(prefix, model, messages, **options):
    chunks = []
    answer = await litellm.acompletion(
        model=f"{prefix}/{model}",
        messages=messages,
        api_base=BASES[prefix],
        api_key=KEY,
        stream=True,
        num_retries=0,
        **options,
    )
    async for chunk in answer:
        chunks.append(chunk)
    return litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message


async def with_tools(prefix, model):
    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        async with Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as client:
            return await call_tools(prefix, model, client.session)


async def call_tools(prefix, model, session):
    messages = [{"role": "user", "content": TASK}]
    for _ in range(3):
        # Loading a skill adds its own tools.
        tools = await experimental_mcp_client.load_mcp_tools(session, format="openai")
        said = await stream(prefix, model, messages, tools=tools)
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            result = await experimental_mcp_client.call_openai_tool(session, call)
            text = "".join(part.text for part in result.content if part.type == "text")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return str(messages)


async def attempt(wire, model):
    for prefix in {"chat": ["openai", "litellm_proxy"], "messages": ["anthropic"]}[wire]:
        works(wire, model, f"{prefix}/", await with_tools(prefix, model))
    if wire == "chat":
        messages = [{"role": "user", "content": TASK}]
        said = await stream("litellm_proxy", model, messages, extra_body={"container": CONTAINER})
        works(wire, model, "skill", said.content)


each(attempt)
