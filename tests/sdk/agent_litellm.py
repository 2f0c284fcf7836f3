"""LiteLLM's SDK, with each of the prefixes that people point at a gateway: with the tools of an
MCP server, by its own MCP client, and with a skill that the request names, by each of its
functions. `litellm_proxy/` has the address as LiteLLM's own proxy has it, without `/v1`.

What is not called whole is streamed. `anthropic.messages` streams only where LiteLLM's proxy is
installed."""

import httpx2
import litellm
from litellm import experimental_mcp_client
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agents_common import CODE_EXECUTION, CONTAINER, HEADERS, KEY, SHELL, TASK, URL, each, works

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


async def with_messages(model):
    answer = await litellm.anthropic.messages.acreate(
        model=f"anthropic/{model}",
        max_tokens=1000,
        messages=[{"role": "user", "content": TASK}],
        tools=[CODE_EXECUTION],
        container=CONTAINER,
        api_base=URL,
        api_key=KEY,
    )
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


async def with_responses(prefix, model):
    """Streamed, and whole."""
    # It imitates the stream of a model that it does not know.
    known = {"litellm_provider": prefix, "mode": "responses", "supports_native_streaming": True}
    litellm.register_model({f"{prefix}/{model}": known})
    request = {
        "model": f"{prefix}/{model}",
        "input": TASK,
        "tools": [SHELL],
        "api_base": BASES[prefix],
        "api_key": KEY,
        "num_retries": 0,
    }
    text = ""
    async for event in await litellm.aresponses(stream=True, **request):
        if event.type == "response.output_text.delta":
            text += event.delta
    return text, litellm.responses(**request).output_text


async def attempt(wire, model):
    messages = [{"role": "user", "content": TASK}]
    if wire == "responses":
        for prefix in ["openai", "litellm_proxy"]:
            streamed, whole = await with_responses(prefix, model)
            works(wire, model, f"{prefix}/ skill", streamed)
            works(wire, model, f"{prefix}/ skill whole", whole)
    elif wire == "messages":
        works(wire, model, "anthropic/", await with_tools("anthropic", model))
        named = {"container": CONTAINER, "tools": [CODE_EXECUTION]}
        said = await stream("anthropic", model, messages, **named)
        works(wire, model, "skill", said.content)
        works(wire, model, "skill whole", await with_messages(model))
    else:
        for prefix in ["openai", "litellm_proxy"]:
            works(wire, model, f"{prefix}/", await with_tools(prefix, model))
        said = await stream("litellm_proxy", model, messages, extra_body={"container": CONTAINER})
        works(wire, model, "skill", said.content)


each(attempt)
