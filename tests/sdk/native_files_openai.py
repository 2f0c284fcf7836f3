"""A skill of Anthropic's own, used by OpenAI's client: the file it made is fetched."""

import os

import openai

client = openai.OpenAI(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"] + "/v1", max_retries=0, _strict_response_validation=True
)
skill = {"type": "skill_reference", "skill_id": "pptx"}
response = client.responses.create(
    model=os.environ["PROWESS_MODEL"],
    input="Make the slides.",
    tools=[{"type": "shell", "environment": {"type": "container_auto", "skills": [skill]}}],
)
[made] = response.container["files"]
file = client.files.retrieve(made["file_id"])
assert (file.filename, file.bytes) == ("deck.pptx", 9), file
container = response.container["id"]
content = client.containers.files.content.retrieve(made["file_id"], container_id=container)
assert content.read() == b"the slides"
assert client.files.delete(made["file_id"]).deleted
try:
    client.files.content(made["file_id"])
except openai.NotFoundError as error:
    assert made["file_id"] in error.message, error
else:
    raise AssertionError("it is still there")
