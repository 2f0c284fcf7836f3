"""Images, audio, moderations and completions with OpenAI's client, by one base URL."""

import io
import os

import openai

client = openai.OpenAI(
    api_key=os.environ["PROWESS_API_KEY"],
    base_url=f"{os.environ['PROWESS_URL']}/v1",
    max_retries=0,
)
MODEL = "oai/m1"
SOUND = ("a.mp3", io.BytesIO(b"\0sound\xff"), "audio/mpeg")
PICTURE = ("a.png", io.BytesIO(b"\x89PNG\r\n\x1a\n"), "image/png")

image = client.images.generate(model=MODEL, prompt="a cat", n=1)
assert image.data[0].b64_json == "bTE=", image
assert image.usage.output_tokens == 7, image.usage
edited = client.images.edit(model=MODEL, image=PICTURE, prompt="a dog")
assert edited.data[0].b64_json == "bTE=", edited

transcription = client.audio.transcriptions.create(model=MODEL, file=SOUND, language="de")
assert transcription.text == "m1 a.mp3 7 bytes", transcription
SOUND[1].seek(0)
translation = client.audio.translations.create(model=MODEL, file=SOUND)
assert translation.text == "m1 a.mp3 7 bytes", translation
speech = client.audio.speech.create(model=MODEL, voice="alloy", input="hi")
assert speech.content == b"\0speech of m1\xff", speech.content
with client.audio.speech.with_streaming_response.create(model=MODEL, voice="alloy", input="hi") as streamed:
    assert b"".join(streamed.iter_bytes()) == b"\0speech of m1\xff"

moderation = client.moderations.create(model=MODEL, input="hello")
assert moderation.results[0].flagged is False and moderation.model == "m1", moderation

completion = client.completions.create(model=MODEL, prompt="one two", max_tokens=5)
assert completion.choices[0].text == "three" and completion.usage.total_tokens == 3, completion
texts = [chunk.choices[0].text for chunk in client.completions.create(model=MODEL, prompt="a", stream=True)]
assert texts == ["th", "ree"], texts

try:
    client.images.generate(model="nobody/m1", prompt="a cat")
except openai.NotFoundError as error:
    assert error.code == "model-not-found", error
else:
    raise AssertionError("an unknown model")

# What has no endpoint here is a path of the provider.
account = client.with_options(base_url=f"{os.environ['PROWESS_URL']}/providers/oai/v1")
stores = account.vector_stores.list(limit=1)
assert [store.id for store in stores.data] == ["vs_1"], stores
assert account.fine_tuning.jobs.retrieve("job_1").id == "job_1"
