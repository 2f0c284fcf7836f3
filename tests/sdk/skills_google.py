"""A skill with Google's client: named in an extra field, told as code execution and files."""

import os

from google import genai
from google.genai import types

client = genai.Client(api_key=os.environ["PROWESS_API_KEY"], http_options=types.HttpOptions(base_url=os.environ["PROWESS_URL"]))
MODEL = os.environ["PROWESS_MODEL"]
SKILLS = [{"type": "custom", "skill_id": os.environ["PROWESS_SKILL"], "version": "latest"}]


def config(**container):
    extra = {"container": {"skills": SKILLS, **container}}
    return types.GenerateContentConfig(http_options=types.HttpOptions(extra_body=extra))


def check(pieces):
    """What the run did, in the parts of Gemini's own code execution; gives its container."""
    parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
    assert pieces[-1].candidates[0].finish_reason == types.FinishReason.STOP, pieces
    codes = [part.executable_code for part in parts if part.executable_code]
    results = [part.code_execution_result for part in parts if part.code_execution_result]
    assert [code.code for code in codes] == ["python3 /skills/report/scripts/make.py"], parts
    assert [result.id for result in results] == [code.id for code in codes], parts
    assert results[0].outcome == types.Outcome.OUTCOME_OK and "made it" in results[0].output, results
    said = "".join(part.text for part in parts if part.text)
    assert said == "I make it.\n\nDone.", said
    files = [part for part in parts if part.file_data]
    assert [part.file_data.display_name for part in files] == ["report.txt"], parts
    uri = files[0].file_data.file_uri
    assert client.files.download(file=uri) == b"all is well"
    about = client.files.get(name=uri)
    assert (about.display_name, about.mime_type, about.size_bytes) == ("report.txt", "text/plain", 11), about
    return files[0].part_metadata["container"]


question = types.Content(role="user", parts=[types.Part(text="Make the report.")])
check([client.models.generate_content(model=MODEL, contents=[question], config=config())])

pieces = list(client.models.generate_content_stream(model=MODEL, contents=[question], config=config()))
container = check(pieces)

# The conversation goes on, in the same container.
contents = [question, *[piece.candidates[0].content for piece in pieces]]
contents.append(types.Content(role="user", parts=[types.Part(text="Once more.")]))
again = [client.models.generate_content(model=MODEL, contents=contents, config=config(id=container))]
assert again[0].candidates[0].finish_reason == types.FinishReason.STOP, again
assert again[0].text.endswith("Done."), again
