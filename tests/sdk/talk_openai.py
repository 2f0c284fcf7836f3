"""A conversation with a tool, whole and streamed, with both of OpenAI's APIs and its client."""

import json

import openai
from weather import ABOUT, CITIES, KEY, PREFACE, QUESTION, SCHEMA, SYSTEM, TOOL, URL, check_answer, every_model, weather

client = openai.OpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0, _strict_response_validation=True)
FUNCTION = {"name": TOOL, "description": ABOUT, "parameters": SCHEMA, "strict": True}
CHAT_TOOLS = [{"type": "function", "function": FUNCTION}]
RESPONSES_TOOLS = [{"type": "function", **FUNCTION}]


def ask_chat(create, model):
    """Answers the model's calls until it has said all; `create` gives a whole completion."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    request = {"model": model, "messages": messages, "tools": CHAT_TOOLS}
    first = create(**request)
    choice = first.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", PREFACE), first
    calls = choice.message.tool_calls
    cities = [json.loads(call.function.arguments)["city"] for call in calls]
    assert cities == CITIES and {call.function.name for call in calls} == {TOOL}, calls
    assert len({call.id for call in calls}) == len(calls)
    assert first.usage.prompt_tokens > 0 and first.usage.completion_tokens > 0, first.usage

    messages.append(choice.message.model_dump(exclude_none=True, exclude={"parsed"}))
    for call, city in zip(calls, cities):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(city)})
    last = create(**request)
    assert last.choices[0].finish_reason == "stop" and last.id != first.id, last
    check_answer(last.choices[0].message.content)


def chat_whole(model):
    ask_chat(client.chat.completions.create, model)


def chat_streamed(model):
    def create(**request):
        with client.chat.completions.stream(**request, stream_options={"include_usage": True}) as stream:
            text = "".join(event.delta for event in stream if event.type == "content.delta")
            completion = stream.get_final_completion()
        assert text == (completion.choices[0].message.content or "")
        return completion

    ask_chat(create, model)


def ask_responses(create, model):
    """The same with the newer API."""
    said = [{"role": "user", "content": QUESTION}]
    request = {"model": model, "instructions": SYSTEM, "input": said, "tools": RESPONSES_TOOLS, "store": False}
    first = create(**request)
    assert (first.status, first.output_text) == ("completed", PREFACE), first
    calls = [item for item in first.output if item.type == "function_call"]
    cities = [json.loads(call.arguments)["city"] for call in calls]
    assert cities == CITIES and {call.name for call in calls} == {TOOL}, calls
    assert first.usage.input_tokens > 0 and first.usage.output_tokens > 0, first.usage

    said += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    for call, city in zip(calls, cities):
        said.append({"type": "function_call_output", "call_id": call.call_id, "output": weather(city)})
    last = create(**request)
    assert last.status == "completed" and last.id != first.id, last
    check_answer(last.output_text)


def responses_whole(model):
    ask_responses(client.responses.create, model)


def responses_streamed(model):
    def create(**request):
        with client.responses.stream(**request) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            response = stream.get_final_response()
        assert text == response.output_text
        return response

    ask_responses(create, model)


every_model(chat_whole, chat_streamed, responses_whole, responses_streamed)
