"""The conversation that every Python client has: about the weather, with a tool called twice."""

import os

URL = os.environ["PROWESS_URL"]
KEY = os.environ["PROWESS_API_KEY"]
# One for each upstream that is tried.
MODELS = os.environ["PROWESS_MODELS"].split(",")

SYSTEM = "You know the weather only from your tool."
QUESTION = "How is the weather in Bern and in Oslo?"
PREFACE = "Let me look."
CITIES = ["Bern", "Oslo"]
TOOL = "get_weather"
ABOUT = "How the weather is in a city"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def weather(city):
    """What the tool says."""
    return {"Bern": "Bern: rain, 7 degrees", "Oslo": "Oslo: snow, -3 degrees"}[city]


def check_answer(text):
    """The model says what the tool said, both times and in order."""
    assert text == f"I see. {weather('Bern')}\n{weather('Oslo')}", text


def every_model(*talks):
    """Has each conversation with each model; says which one failed."""
    for model in MODELS:
        for talk in talks:
            try:
                talk(model)
            except BaseException:
                print(f"failed: {talk.__name__} with {model}", flush=True)
                raise
