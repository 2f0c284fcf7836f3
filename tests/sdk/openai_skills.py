"""The life of skills and files with OpenAI's client."""

import openai
from life import FILES, KEY, NAME, URL, files, names_in, opened, raises, zipped

client = openai.OpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0, _strict_response_validation=True)
skills = client.skills

skill = skills.create(files=files())
assert (skill.name, skill.object, skill.default_version, skill.latest_version) == (NAME, "skill", "1", "1")
# Clients before 3 lose a file that is not in a list.
same = skills.create(files=opened(zipped()) if openai.VERSION >= "3" else [zipped()])
assert same.id != skill.id
raises(openai.BadRequestError, lambda: skills.create(), "skill")

assert skills.retrieve(skill.id) == skill
for order in ("asc", "desc"):
    listed = [one.id for one in skills.list(limit=1, order=order)]
    assert {skill.id, same.id} <= set(listed) and len(listed) == len(set(listed))

version = skills.versions.create(skill.id, files=files("Better."))
assert (version.version, version.skill_id, version.object) == ("2", skill.id, "skill.version")
assert [one.version for one in skills.versions.list(skill.id, limit=1)] == ["2", "1"]
assert [one.version for one in skills.versions.list(skill.id, order="asc")] == ["1", "2"]
assert skills.versions.retrieve("2", skill_id=skill.id) == version
assert skills.retrieve(skill.id).default_version == "1"
assert skills.update(skill.id, default_version="2").default_version == "2"
assert names_in(skills.content.retrieve(skill.id).read()) == FILES
assert names_in(skills.versions.content.retrieve("1", skill_id=skill.id).read()) == FILES

raises(openai.BadRequestError, lambda: skills.versions.delete("2", skill_id=skill.id), "default")
deleted = skills.versions.delete("1", skill_id=skill.id)
assert deleted.deleted and deleted.version == "1"
third = skills.versions.create(skill.id, files=files("Best."), default=True)
assert third.version == "3" and skills.retrieve(skill.id).default_version == "3"
for one in (skill, same):
    assert skills.delete(one.id).deleted
error = raises(openai.NotFoundError, lambda: skills.retrieve(skill.id), "skill", skill.id)
assert error.code == "skill-not-found"

after = {"anchor": "created_at", "seconds": 3600}
file = client.files.create(file=("a.txt", b"hello"), purpose="user_data", expires_after=after)
assert (file.filename, file.bytes, file.purpose, file.object) == ("a.txt", 5, "user_data", "file")
assert file.expires_at - file.created_at == 3600
other = client.files.create(file=("b.txt", b"again"), purpose="assistants")
assert {file.id, other.id} <= {one.id for one in client.files.list(limit=1)}
assert file.id not in {one.id for one in client.files.list(purpose="assistants")}
assert client.files.retrieve(file.id) == file
assert client.files.content(file.id).read() == b"hello"
for one in (file, other):
    assert client.files.delete(one.id).deleted
raises(openai.NotFoundError, lambda: client.files.retrieve(file.id), file.id)

assert client.models.list().data == []
raises(openai.NotFoundError, lambda: client.models.retrieve("none"))
raises(openai.AuthenticationError, lambda: openai.OpenAI(api_key="wrong", base_url=f"{URL}/v1").skills.list())
