"""What Anthropic's client is told when the upstream fails: one line for each failure."""

import os
import sys

import anthropic

client = anthropic.Anthropic(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"], max_retries=0, timeout=30
)


def told(call):
    """The error in a line; the client must have understood its shape."""
    try:
        call()
    except anthropic.APIStatusError as error:
        body = error.body
        assert body["type"] == "error" and body["request_id"] == error.request_id, body
        assert set(body["error"]) >= {"type", "message"}, body
        return f"{type(error).__name__} {error.status_code} {body['error']['type']}: {body['error']['message']}"
    sys.exit("there was no error")


def whole(request):
    client.messages.create(**request)


def streamed(request):
    with client.messages.stream(**request) as stream:
        stream.until_done()


for model in os.environ["PROWESS_MODELS"].split(","):
    messages = [{"role": "user", "content": os.environ["PROWESS_SAY"]}]
    request = {"model": model, "max_tokens": 100, "messages": messages}
    for way in [streamed] if "PROWESS_STREAM_ONLY" in os.environ else [whole, streamed]:
        print(f"{model} {way.__name__}: {told(lambda: way(request))}", flush=True)
