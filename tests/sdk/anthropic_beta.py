"""The life of skills and files with a client of the beta (`skills-2025-10-02`)."""

import anthropic
from life import KEY, NAME, RUN, URL, files, raises, zipped

client = anthropic.Anthropic(api_key=KEY, base_url=URL, max_retries=0, _strict_response_validation=True)
skills = client.beta.skills

skill = skills.create(display_title=f"Test {RUN}", files=files())
assert skill.display_title == f"Test {RUN}" and skill.source == "custom" and skill.type == "skill"
assert skill.latest_version.isdigit() and len(skill.latest_version) == 16
raises(anthropic.BadRequestError, lambda: skills.create(display_title=f"Test {RUN}", files=files()), "skill", "display_title")

assert skills.retrieve(skill.id).to_dict() == skill.to_dict()
assert skill.id in [one.id for one in skills.list(limit=1, source="custom")]

version = skills.versions.create(skill.id, files=[zipped("Better.")])
assert version.name == version.directory == NAME and version.skill_id == skill.id
assert int(version.version) > int(skill.latest_version)
assert [one.version for one in skills.versions.list(skill.id, limit=1)] == [skill.latest_version, version.version]
assert skills.versions.retrieve(version.version, skill_id=skill.id).id == version.id

raises(anthropic.BadRequestError, lambda: skills.delete(skill.id), "Cannot delete skill with existing versions")
for one in list(skills.versions.list(skill.id)):
    deleted = skills.versions.delete(one.version, skill_id=skill.id)
    assert deleted.id == one.version and deleted.type == "skill_version_deleted"
assert skills.retrieve(skill.id).latest_version is None
assert skills.delete(skill.id).type == "skill_deleted"
raises(anthropic.NotFoundError, lambda: skills.retrieve(skill.id), "skill", skill.id)
raises(anthropic.BadRequestError, lambda: skills.create(files=[("x/readme.md", b"no skill")]), "skill")

file = client.beta.files.upload(file=("notes/a.txt", b"hello", "text/plain"))
assert (file.filename, file.mime_type, file.size_bytes, file.type) == ("a.txt", "text/plain", 5, "file")
other = client.beta.files.upload(file=("b.txt", b"again"))
assert {file.id, other.id} <= {one.id for one in client.beta.files.list(limit=1)}
assert client.beta.files.retrieve_metadata(file.id) == file
raises(anthropic.BadRequestError, lambda: client.beta.files.download(file.id), "file_not_downloadable")
for one in (file, other):
    assert client.beta.files.delete(one.id).type == "file_deleted"
raises(anthropic.NotFoundError, lambda: client.beta.files.retrieve_metadata(file.id), file.id)

assert client.models.list().data == []
raises(anthropic.NotFoundError, lambda: client.models.retrieve("none"))
raises(anthropic.AuthenticationError, lambda: anthropic.Anthropic(api_key="wrong", base_url=URL).beta.skills.list())
