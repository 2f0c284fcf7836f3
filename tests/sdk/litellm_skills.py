"""The skills of LiteLLM's own client, which speaks the beta's dialect."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import httpx  # noqa: E402
import litellm  # noqa: E402
from life import KEY, NAME, RUN, URL, skill_md  # noqa: E402

server = {"custom_llm_provider": "anthropic", "api_base": URL, "api_key": KEY}

skill = litellm.create_skill(
    display_title=f"Test {RUN}", files=[(f"{NAME}/SKILL.md", skill_md(), "text/markdown")], **server
)
assert skill.display_title == f"Test {RUN}" and skill.source == "custom" and skill.latest_version
assert skill.id in [one.id for one in litellm.list_skills(limit=100, **server).data]
assert litellm.get_skill(skill_id=skill.id, **server).id == skill.id

# The beta deletes no skill that has versions, and LiteLLM has no call for versions.
try:
    litellm.delete_skill(skill_id=skill.id, **server)
    raise AssertionError("a skill with versions was deleted")
except litellm.BadRequestError as error:
    assert "Cannot delete skill with existing versions" in str(error)
headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01", "anthropic-beta": "skills-2025-10-02"}
path = f"{URL}/v1/skills/{skill.id}/versions/{skill.latest_version}"
httpx.delete(path, headers=headers).raise_for_status()
assert litellm.delete_skill(skill_id=skill.id, **server).type == "skill_deleted"
