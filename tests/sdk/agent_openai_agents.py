"""An agent on OpenAI's Agents SDK: with the tools of an MCP server, with a skill on its
hosted shell, and in a conversation that the server keeps. Everything is streamed."""

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    ShellTool,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

from agents_common import CONTAINER, HEADERS, KEY, SHELL, TASK, URL, each, works

set_tracing_disabled(True)
client = AsyncOpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0)
apis = {"responses": OpenAIResponsesModel, "chat": OpenAIChatCompletionsModel}


async def ask(agent, task=TASK, **options):
    result = Runner.run_streamed(agent, task, **options)
    async for _ in result.stream_events():
        pass
    return result.final_output


def agent(wire, model, **options):
    return Agent(name="tester", instructions="Be brief.", model=apis[wire](model, client), **options)


async def with_mcp(wire, model):
    params = {"url": f"{URL}/mcp", "headers": HEADERS}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=120) as server:
        works(wire, model, "mcp", await ask(agent(wire, model, mcp_servers=[server])))


async def with_skill(wire, model):
    if wire == "responses":
        options = {"tools": [ShellTool(environment=SHELL["environment"])]}
    else:
        options = {"model_settings": ModelSettings(extra_body={"container": CONTAINER})}
    works(wire, model, "skill", await ask(agent(wire, model, **options)))


async def with_conversation(wire, model):
    session = OpenAIConversationsSession(openai_client=client)
    talker = agent(wire, model)
    first = await ask(talker, "Remember the word juniper", session=session)
    assert first == "Fine.", first
    second = await ask(talker, "Which word was it?", session=session)
    assert second == "The word was juniper.", second
    works(wire, model, "conversation", "The command said from-42.")


async def attempt(wire, model):
    await with_mcp(wire, model)
    await with_skill(wire, model)
    if wire == "responses":
        await with_conversation(wire, model)


each(attempt)
