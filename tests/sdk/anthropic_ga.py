"""The life of skills and files with a client since general availability."""

import anthropic
from life import FILES, KEY, NAME, RUN, URL, files, names_in, raises, skill_md, zipped

client = anthropic.Anthropic(api_key=KEY, base_url=URL, max_retries=0, _strict_response_validation=True)
skills = client.skills

skill = skills.create(display_name=f"Test {RUN}", files=files())
assert skill.display_name == f"Test {RUN}" and skill.source.type == "custom" and skill.type == "skill"
assert skill.latest_version_id.startswith("skver_")
same = skills.create(display_name=f"Test {RUN}", files=[zipped()])
assert same.id != skill.id, "titles need not be unique"
bare = skills.create(files=[("SKILL.md", skill_md())])
assert bare.display_name == NAME, "without a title the name is shown"

assert skills.retrieve(skill.id) == skill
listed = [one.id for one in skills.list(limit=2, source="custom")]
assert {skill.id, same.id, bare.id} <= set(listed) and len(listed) == len(set(listed))

version = skills.versions.create(skill.id, files=files("Better."))
assert version.name == NAME and version.skill_id == skill.id and version.type == "skill_version"
assert [one.id for one in skills.versions.list(skill.id, limit=1)] == [version.id, skill.latest_version_id]
assert skills.versions.retrieve("latest", skill_id=skill.id) == version
assert skills.versions.retrieve(version.id, skill_id=skill.id) == version
archive = client.beta.skills.versions.download(version.id, skill_id=skill.id).read()
assert names_in(archive) == FILES

assert skills.versions.delete(version.id, skill_id=skill.id).type == "skill_version_deleted"
last = skill.latest_version_id
raises(anthropic.BadRequestError, lambda: skills.versions.delete(last, skill_id=skill.id), "skill")
for one in (skill, same, bare):
    deleted = skills.delete(one.id)
    assert deleted.id == one.id and deleted.type == "skill_deleted"
raises(anthropic.NotFoundError, lambda: skills.retrieve(skill.id), "skill", skill.id)
bad = raises(anthropic.BadRequestError, lambda: skills.create(files=[("SKILL.md", b"---\nname: x\n---\n")]), "skill")
assert bad.body["error"]["details"]["diagnostics"], "what is wrong, and where"

file = client.files.upload(file=("notes/a.txt", b"hello", "text/plain"), expires_in_seconds=3600)
assert (file.filename, file.mime_type, file.size_bytes, file.downloadable) == ("a.txt", "text/plain", 5, False)
assert file.expires_at is not None
other = client.files.upload(file=("b.txt", b"again"))
assert {file.id, other.id} <= {one.id for one in client.files.list(limit=1)}
assert [one.id for one in client.files.list(ids=[other.id, "file_none", file.id])] == [other.id, file.id]
assert client.files.retrieve_metadata(file.id) == file
raises(anthropic.BadRequestError, lambda: client.files.download(file.id), "file_not_downloadable")
for one in (file, other):
    assert client.files.delete(one.id).type == "file_deleted"
raises(anthropic.NotFoundError, lambda: client.files.retrieve_metadata(file.id), file.id)

assert client.models.list().data == []
raises(anthropic.NotFoundError, lambda: client.models.retrieve("none"))
raises(anthropic.AuthenticationError, lambda: anthropic.Anthropic(api_key="wrong", base_url=URL).skills.list())
