"""A conversation with a tool, whole and streamed, with Anthropic's client."""

import anthropic
from weather import ABOUT, CITIES, KEY, PREFACE, QUESTION, SCHEMA, SYSTEM, TOOL, URL, check_answer, every_model, weather

client = anthropic.Anthropic(api_key=KEY, base_url=URL, max_retries=0, _strict_response_validation=True)
TOOLS = [{"name": TOOL, "description": ABOUT, "input_schema": SCHEMA}]


def ask(create, model):
    """Answers the model's calls until it has said all; `create` gives a whole message."""
    messages = [{"role": "user", "content": QUESTION}]
    request = {"model": model, "max_tokens": 500, "system": SYSTEM, "tools": TOOLS, "messages": messages}
    first = create(**request)
    assert first.stop_reason == "tool_use", first
    text, *calls = first.content
    assert (text.type, text.text) == ("text", PREFACE), first
    assert [(call.type, call.name, call.input["city"]) for call in calls] == [("tool_use", TOOL, city) for city in CITIES]
    assert first.usage.input_tokens > 0 and first.usage.output_tokens > 0, first.usage

    results = [{"type": "tool_result", "tool_use_id": call.id, "content": weather(call.input["city"])} for call in calls]
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    last = create(**request)
    assert last.stop_reason == "end_turn" and last.id != first.id, last
    check_answer("".join(block.text for block in last.content))


def whole(model):
    ask(client.messages.create, model)


def streamed(model):
    def create(**request):
        with client.messages.stream(**request) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        assert text == "".join(block.text for block in message.content if block.type == "text")
        return message

    ask(create, model)


every_model(whole, streamed)
