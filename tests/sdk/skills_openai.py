"""A skill as OpenAI's documentation shows it (shell and skill_reference), and on chat
as LiteLLM's does (container as an extra field)."""

import os

import openai

client = openai.OpenAI(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"] + "/v1", max_retries=0, _strict_response_validation=True
)
MODEL = os.environ["PROWESS_MODEL"]
SKILL = os.environ["PROWESS_SKILL"]
shell = {
    "type": "shell",
    "environment": {
        "type": "container_auto",
        "skills": [{"type": "skill_reference", "skill_id": SKILL, "version": "latest"}],
    },
}
request = {"model": MODEL, "input": "Make the report.", "tools": [shell]}


def check(response):
    assert response.status == "completed" and response.output_text.endswith("Done."), response
    kinds = [item.type for item in response.output]
    assert "shell_call" in kinds and "shell_call_output" in kinds, kinds
    outputs = [item for item in response.output if item.type == "shell_call_output"]
    assert "made it" in outputs[0].output[0].stdout, outputs
    cited = [
        note
        for item in response.output
        if item.type == "message"
        for part in item.content
        for note in part.annotations
        if note.type == "container_file_citation"
    ]
    assert [note.filename for note in cited] == ["report.txt"], response.output
    made = cited[0]
    assert client.files.content(made.file_id).read() == b"all is well"
    inside = client.containers.files
    assert inside.content.retrieve(made.file_id, container_id=made.container_id).read() == b"all is well"
    listed = [(file.id, file.path, file.bytes) for file in inside.list(made.container_id)]
    assert listed == [(made.file_id, "/mnt/data/report.txt", 11)], listed


check(client.responses.create(**request))
with client.responses.stream(**request) as stream:
    for _ in stream:
        pass
    check(stream.get_final_response())

chat = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Make the report."}],
    "extra_body": {"container": {"skills": [{"type": "custom", "skill_id": f"litellm:{SKILL}"}]}},
}
completion = client.chat.completions.create(**chat)
choice = completion.choices[0]
assert choice.finish_reason == "stop" and choice.message.content.endswith("Done."), completion
assert choice.message.tool_calls is None, completion
with client.chat.completions.stream(**chat) as stream:
    text = "".join(event.delta for event in stream if event.type == "content.delta")
assert text.endswith("Done."), text
