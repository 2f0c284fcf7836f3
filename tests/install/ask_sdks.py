"""Asks the model of a server with Anthropic's and OpenAI's SDKs, whole and streamed: ask_sdks.py LOG."""

import sys

from anthropic import Anthropic
from openai import OpenAI

from ask_server import address

TEXT = "Hello from the script"
QUESTION = {"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]}

url = address(sys.argv[1])

client = Anthropic(base_url=url, api_key="any", max_retries=0)
message = client.messages.create(max_tokens=100, **QUESTION)
assert message.content[0].text == TEXT, message
with client.messages.stream(max_tokens=100, **QUESTION) as stream:
    message = stream.get_final_message()
assert message.content[0].text == TEXT, message

client = OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
completion = client.chat.completions.create(**QUESTION)
assert completion.choices[0].message.content == TEXT, completion
chunks = client.chat.completions.create(stream=True, **QUESTION)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == TEXT, text
response = client.responses.create(model="scripted", input="Hi")
assert response.output_text == TEXT, response
print("answered both SDKs")
