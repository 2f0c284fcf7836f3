"""A conversation with a tool, whole and streamed, with Google's client, by hand and by itself."""

from google import genai
from google.genai import errors, types
from weather import ABOUT, CITIES, KEY, MODELS, PREFACE, QUESTION, SCHEMA, SYSTEM, TOOL, URL, check_answer, every_model, weather

# The version of the API that it takes by itself, and the one that it took for years.
clients = [
    genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL)),
    genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL, api_version="v1beta")),
]
client = clients[1]
DECLARED = types.FunctionDeclaration(name=TOOL, description=ABOUT, parameters_json_schema=SCHEMA)
BY_HAND = types.GenerateContentConfig(
    system_instruction=SYSTEM,
    tools=[types.Tool(function_declarations=[DECLARED])],
    thinking_config=types.ThinkingConfig(include_thoughts=True),
)


def get_weather(city: str) -> str:
    """How the weather is in a city."""
    return weather(city)


BY_ITSELF = types.GenerateContentConfig(system_instruction=SYSTEM, tools=[get_weather])


def ask(create, model, with_ids):
    """Answers the model's calls until it has said all; `create` gives the pieces of an answer."""
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    first = create(model=model, contents=contents, config=BY_HAND)
    parts = [part for piece in first for part in piece.candidates[0].content.parts]
    said = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    assert said == PREFACE, first
    assert [(call.name, call.args["city"]) for call in calls] == [(TOOL, city) for city in CITIES], first
    assert len({call.id for call in calls}) == len(calls)
    assert first[-1].candidates[0].finish_reason == types.FinishReason.STOP, first
    usage = first[-1].usage_metadata
    assert usage.prompt_token_count > 0 and usage.candidates_token_count > 0, usage

    contents += [piece.candidates[0].content for piece in first]
    for call in calls:
        id = call.id if with_ids else None
        result = types.FunctionResponse(id=id, name=TOOL, response={"output": weather(call.args["city"])})
        contents.append(types.Content(role="user", parts=[types.Part(function_response=result)]))
    last = create(model=model, contents=contents, config=BY_HAND)
    assert last[-1].candidates[0].finish_reason == types.FinishReason.STOP, last
    assert last[0].response_id != first[0].response_id
    check_answer("".join(piece.text or "" for piece in last))


def whole(model):
    for number, each in enumerate(clients):
        ask(lambda **request: [each.models.generate_content(**request)], model, with_ids=number == 0)


def streamed(model):
    for number, each in enumerate(clients):
        ask(lambda **request: list(each.models.generate_content_stream(**request)), model, with_ids=number == 1)


def chat_whole(model):
    """The client calls the function itself, and keeps the conversation."""
    chat = client.chats.create(model=model, config=BY_ITSELF)
    check_answer(chat.send_message(QUESTION).text)
    assert len(chat.get_history(curated=True)) == 4, chat.get_history()


def chat_streamed(model):
    chat = client.chats.create(model=model, config=BY_ITSELF)
    text = "".join(chunk.text or "" for chunk in chat.send_message_stream(QUESTION))
    check_answer(text.removeprefix(PREFACE))


def counted(model):
    assert client.models.count_tokens(model=model, contents=QUESTION).total_tokens > 0
    assert client.models.get(model=model).name == f"models/{model}"


every_model(whole, streamed, chat_whole, chat_streamed, counted)

listed = [model.name for model in client.models.list()]
assert isinstance(listed, list)
for call in [client.models.generate_content, lambda **request: list(client.models.generate_content_stream(**request))]:
    try:
        call(model="nobody/knows-it", contents=QUESTION)
    except errors.ClientError as error:
        assert (error.code, error.status) == (404, "NOT_FOUND") and "nobody/knows-it" in error.message, error
    else:
        raise AssertionError("there was no error")
stranger = genai.Client(api_key="sk-pw-wrong", http_options=types.HttpOptions(base_url=URL))
try:
    stranger.models.generate_content(model=MODELS[0], contents=QUESTION)
except errors.ClientError as error:
    assert (error.code, error.status) == (401, "UNAUTHENTICATED"), error
else:
    raise AssertionError("there was no error")
