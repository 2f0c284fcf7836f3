"""LiteLLM's SDK, with each of the prefixes that people point at a gateway; `litellm_proxy/`
has the address as LiteLLM's own proxy has it, without `/v1`. Everything is streamed."""

import json

import litellm

from agents_common import CONTAINER, KEY, TASK, URL, each, works

litellm.telemetry = False
litellm.suppress_debug_info = True
TOOL = {
    "type": "function",
    "function": {
        "name": "load_skill",
        "description": "Loads a skill.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}
SHELL = {
    "type": "function",
    "function": {
        "name": "bash_code_execution",
        "description": "Runs a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}
BASES = {"openai": f"{URL}/v1", "litellm_proxy": URL, "anthropic": URL}
RESULTS = {"load_skill": "Tools now available: none", "bash_code_execution": "from-42"}


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
    messages = [{"role": "user", "content": TASK}]
    for _ in range(3):
        said = await stream(prefix, model, messages, tools=[TOOL, SHELL])
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            json.loads(call.function.arguments)
            result = RESULTS[call.function.name]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return str(messages)


async def attempt(wire, model):
    for prefix in {"chat": ["openai", "litellm_proxy"], "messages": ["anthropic"]}[wire]:
        works(wire, model, f"{prefix}/", await with_tools(prefix, model))
    if wire == "chat":
        messages = [{"role": "user", "content": TASK}]
        said = await stream("litellm_proxy", model, messages, extra_body={"container": CONTAINER})
        works(wire, model, "skill", said.content)


each(attempt)
