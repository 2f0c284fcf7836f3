"""A skill by LiteLLM's client: sync, async, and sync inside a running loop."""

import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

skill = {"type": "custom", "skill_id": os.environ["PROWESS_SKILL"]}
request = {
    "model": "openai/" + os.environ["PROWESS_MODEL"],
    "api_base": os.environ["PROWESS_URL"] + "/v1",
    "api_key": os.environ["PROWESS_API_KEY"],
    "messages": [{"role": "user", "content": "Report."}],
    "extra_body": {"container": {"skills": [skill]}},
    "max_retries": 0,
}


def check(answer):
    choice = answer.choices[0]
    assert choice.finish_reason == "stop" and choice.message.content.endswith("Done."), answer
    assert answer.usage.prompt_tokens == 60, answer.usage


async def inside():
    check(await litellm.acompletion(**request))
    check(litellm.completion(**request))


check(litellm.completion(**request))
asyncio.run(inside())
