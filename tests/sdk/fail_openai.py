"""What OpenAI's client is told when the upstream fails: one line for each failure and API."""

import os
import sys

import openai

client = openai.OpenAI(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"] + "/v1", max_retries=0, timeout=30
)
SAY = os.environ["PROWESS_SAY"]


def told(call):
    """The error in a line; the client must have understood its shape."""
    try:
        call()
    except openai.APIError as error:
        assert error.message and error.body, repr(error)
        status = getattr(error, "status_code", "mid-stream")
        return f"{type(error).__name__} {status} {error.type} {error.code}: {error.body['message']}"
    sys.exit("there was no error")


def chat_whole(model):
    client.chat.completions.create(model=model, messages=[{"role": "user", "content": SAY}])


def chat_streamed(model):
    for _ in client.chat.completions.create(model=model, messages=[{"role": "user", "content": SAY}], stream=True):
        pass


def responses_whole(model):
    client.responses.create(model=model, input=SAY)


def responses_streamed(model):
    for _ in client.responses.create(model=model, input=SAY, stream=True):
        pass


for model in os.environ["PROWESS_MODELS"].split(","):
    ways = [chat_whole, chat_streamed, responses_whole, responses_streamed]
    for way in ways[1::2] if "PROWESS_STREAM_ONLY" in os.environ else ways:
        print(f"{model} {way.__name__}: {told(lambda: way(model))}", flush=True)
