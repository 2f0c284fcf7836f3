"""The tool of the conversation about the weather, for programs that take their tools from a file."""


def get_weather(city: str) -> str:
    "How the weather is in a city"
    return {"Bern": "Bern: rain, 7 degrees", "Oslo": "Oslo: snow, -3 degrees"}[city]
