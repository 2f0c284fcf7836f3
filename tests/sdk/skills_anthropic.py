"""A skill as Anthropic's documentation shows it: container, code execution, files."""

import os

import anthropic

client = anthropic.Anthropic(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"], max_retries=0, _strict_response_validation=True
)
request = {
    "model": os.environ["PROWESS_MODEL"],
    "max_tokens": 4096,
    "container": {"skills": [{"type": "custom", "skill_id": os.environ["PROWESS_SKILL"], "version": "latest"}]},
    "messages": [{"role": "user", "content": "Make the report."}],
    "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
}
BETAS = ["code-execution-2025-08-25", "skills-2025-10-02", "files-api-2025-04-14"]


def check(response, files, **betas):
    assert response.stop_reason == "end_turn", response
    assert response.container.skills[0].skill_id == os.environ["PROWESS_SKILL"], response.container
    assert response.container.skills[0].version != "latest"
    ids = []
    for item in response.content:
        if item.type == "bash_code_execution_tool_result":
            if item.content.type == "bash_code_execution_result":
                ids += [file.file_id for file in item.content.content]
    assert len(ids) == 1, response
    assert files.retrieve_metadata(ids[0], **betas).filename == "report.txt"
    assert files.download(ids[0], **betas).read() == b"all is well"
    return response.container.id


check(client.messages.create(**request), client.files)
check(client.beta.messages.create(**request, betas=BETAS), client.beta.files, betas=BETAS)
with client.messages.stream(**request) as stream:
    text = "".join(stream.text_stream)
    container = check(stream.get_final_message(), client.files)
assert text.endswith("Done."), text

# The same container goes on in the next message.
request["container"]["id"] = container
again = client.messages.create(**request)
assert again.container.id == container, again
