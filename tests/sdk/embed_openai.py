"""Embeddings with OpenAI's client: as numbers and as bytes, of one text and of several."""

import os
import struct

import openai

# Not with strict validation: it refuses the base64 that the client itself requests.
client = openai.OpenAI(
    api_key=os.environ["PROWESS_API_KEY"],
    base_url=f"{os.environ['PROWESS_URL']}/v1",
    max_retries=0,
)
TEXTS = ["a small text", "another", "naïve text with three more words"]


def vector(text):
    """What every upstream returns for a text."""
    return [len(text.encode()) / 1024, len(text.split()) / 64, -0.5]


def single(embedding):
    """The numbers in single precision, which is what vectors have; the shortest digits of such
    a number are not those of the same number in double precision."""
    return list(struct.unpack(f"{len(embedding)}f", struct.pack(f"{len(embedding)}f", *embedding)))


for model in os.environ["PROWESS_MODELS"].split(","):
    # The client requests bytes in base64 unless it is told otherwise.
    for options in [{}, {"encoding_format": "float"}, {"dimensions": 256}]:
        many = client.embeddings.create(model=model, input=TEXTS, **options)
        assert [item.index for item in many.data] == [0, 1, 2], many
        assert [single(item.embedding) for item in many.data] == [vector(text) for text in TEXTS], (model, many)
        assert many.object == "list" and many.usage.prompt_tokens > 0, many.usage
        assert many.usage.total_tokens == many.usage.prompt_tokens, many.usage
        assert many.model == model.split("/", 1)[1], many.model
    one = client.embeddings.create(model=model, input=TEXTS[0])
    assert [single(item.embedding) for item in one.data] == [vector(TEXTS[0])], (model, one)

# Token numbers pass unchanged to OpenAI's own models; other vendors do not know them.
assert len(client.embeddings.create(model="oai/m1", input=[[1, 2], [3]]).data) == 2
for model, wrong in [("gem/m1", [[1, 2]]), ("gem/m1", ""), ("nobody/m1", "text")]:
    try:
        client.embeddings.create(model=model, input=wrong)
    except (openai.BadRequestError, openai.NotFoundError) as error:
        assert error.code, error
    else:
        raise AssertionError((model, wrong))
