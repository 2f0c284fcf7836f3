"""An agent on Pydantic AI: with the tools of an MCP server, and with a skill that the
request names. Everything is streamed."""

from google import genai
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from agents_common import CODE_EXECUTION, CONTAINER, HEADERS, KEY, SHELL, TASK, URL, each, works


def google(name, **options):
    """Its own settings for Google's client have no further fields of a body."""
    options = genai.types.HttpOptions(base_url=URL, **options)
    return GoogleModel(name, provider=GoogleProvider(client=genai.Client(api_key=KEY, http_options=options)))


openai = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
models = {
    "messages": lambda name: AnthropicModel(name, provider=AnthropicProvider(base_url=URL, api_key=KEY)),
    "chat": lambda name: OpenAIChatModel(name, provider=openai),
    "responses": lambda name: OpenAIResponsesModel(name, provider=openai),
    "gemini": google,
}
named = {
    "messages": {"extra_body": {"container": CONTAINER, "tools": [CODE_EXECUTION]}},
    "chat": {"extra_body": {"container": CONTAINER}},
    "responses": {"extra_body": {"tools": [SHELL]}},
}


async def ask(agent, **options):
    """The last answer of a run whose every turn is streamed."""
    async with agent.iter(TASK, **options) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        pass
    return run.result.output


async def attempt(wire, model):
    server = MCPToolset(f"{URL}/mcp", headers=HEADERS)
    async with (agent := Agent(models[wire](model), toolsets=[server])):
        works(wire, model, "mcp", await ask(agent))
    if wire == "gemini":
        agent = Agent(google(model, extra_body={"container": CONTAINER}))
    else:
        agent = Agent(models[wire](model), model_settings=named[wire])
    works(wire, model, "skill", await ask(agent))


each(attempt)
