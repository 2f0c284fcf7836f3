"""A conversation with a tool, whole and streamed, with LiteLLM as the client."""

import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402
from weather import ABOUT, CITIES, KEY, PREFACE, QUESTION, SCHEMA, SYSTEM, TOOL, URL, check_answer, every_model, weather  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
TOOLS = [{"type": "function", "function": {"name": TOOL, "description": ABOUT, "parameters": SCHEMA}}]
# It speaks to us as if we were OpenAI, or as if we were Anthropic.
DOORS = {"openai": f"{URL}/v1", "anthropic": URL}


def ask(door, model, stream):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    first = complete(door, model, messages, stream).choices[0]
    assert (first.finish_reason, first.message.content) == ("tool_calls", PREFACE), first
    calls = first.message.tool_calls
    cities = [json.loads(call.function.arguments)["city"] for call in calls]
    assert cities == CITIES and {call.function.name for call in calls} == {TOOL}, calls

    messages.append(first.message.model_dump(exclude_none=True))
    for call, city in zip(calls, cities):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(city)})
    last = complete(door, model, messages, stream).choices[0]
    assert last.finish_reason == "stop", last
    check_answer(last.message.content)


def complete(door, model, messages, stream):
    server = {"api_base": DOORS[door], "api_key": KEY, "num_retries": 0}
    answer = litellm.completion(f"{door}/{model}", messages=messages, tools=TOOLS, stream=stream, **server)
    return litellm.stream_chunk_builder(list(answer), messages=messages) if stream else answer


def as_openai_whole(model):
    ask("openai", model, stream=False)


def as_openai_streamed(model):
    ask("openai", model, stream=True)


def as_anthropic_whole(model):
    ask("anthropic", model, stream=False)


def as_anthropic_streamed(model):
    ask("anthropic", model, stream=True)


every_model(as_openai_whole, as_openai_streamed, as_anthropic_whole, as_anthropic_streamed)
