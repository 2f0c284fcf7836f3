"""An agent on LangChain: with the tools of an MCP server, and with a skill that the
request names. Everything is streamed."""

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI

from agents_common import CODE_EXECUTION, CONTAINER, HEADERS, KEY, TASK, URL, each, works


def chat(wire, name, **options):
    if wire == "messages":
        return ChatAnthropic(model=name, base_url=URL, api_key=KEY, max_retries=0, streaming=True, **options)
    if wire == "gemini":
        # It counts the first attempt as well.
        return ChatGoogleGenerativeAI(model=name, base_url=URL, api_key=KEY, max_retries=1, streaming=True, **options)
    responses = wire == "responses"
    return ChatOpenAI(
        model=name, base_url=f"{URL}/v1", api_key=KEY, max_retries=0, streaming=True, use_responses_api=responses, **options
    )


# Its own client for Responses refuses the shell tool that would name a skill there.
named = {
    "messages": lambda model: chat("messages", model, container=CONTAINER).bind_tools([CODE_EXECUTION]),
    "chat": lambda model: chat("chat", model, extra_body={"container": CONTAINER}),
    "gemini": lambda model: chat("gemini", model).bind(http_options={"extra_body": {"container": CONTAINER}}),
}


async def ask(agent):
    last = None
    async for state in agent.astream({"messages": [("user", TASK)]}, stream_mode="values"):
        last = state["messages"][-1]
    return last.text


async def attempt(wire, model):
    client = MultiServerMCPClient(
        {"skills": {"transport": "streamable_http", "url": f"{URL}/mcp", "headers": HEADERS}}
    )
    async with client.session("skills") as session:
        tools = await load_mcp_tools(session)
        works(wire, model, "mcp", await ask(create_agent(chat(wire, model), tools)))
    if wire in named:
        text = ""
        async for chunk in named[wire](model).astream(TASK):
            text += chunk.text
        works(wire, model, "skill", text)


each(attempt)
