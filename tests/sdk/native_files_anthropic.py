"""A skill of Anthropic's own as its documentation shows it: the file it made is fetched."""

import os

import anthropic

client = anthropic.Anthropic(
    api_key=os.environ["PROWESS_API_KEY"], base_url=os.environ["PROWESS_URL"], max_retries=0, _strict_response_validation=True
)
request = {
    "model": os.environ["PROWESS_MODEL"],
    "max_tokens": 4096,
    "container": {"skills": [{"type": "anthropic", "skill_id": "pptx", "version": "latest"}]},
    "messages": [{"role": "user", "content": "Make the slides."}],
    "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
    "betas": ["code-execution-2025-08-25", "skills-2025-10-02"],
}


def fetch(response):
    results = [item.content for item in response.content if item.type == "bash_code_execution_tool_result"]
    [made] = [file for result in results for file in result.content]
    assert client.beta.files.retrieve_metadata(made.file_id).filename == "deck.pptx"
    assert client.beta.files.download(made.file_id).read() == b"the slides"
    assert client.beta.files.delete(made.file_id).type == "file_deleted"
    try:
        client.beta.files.retrieve_metadata(made.file_id)
    except anthropic.NotFoundError as error:
        assert made.file_id in error.message, error
    else:
        raise AssertionError("it is still there")


fetch(client.beta.messages.create(**request))
with client.beta.messages.stream(**request) as stream:
    fetch(stream.get_final_message())
