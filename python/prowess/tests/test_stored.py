"""Skills are stored on a server or in a folder, by the same verbs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import prowess
import pytest
from conftest import GREETER, write
from prowess import Client, Skill, SkillError, Store, StoreError, Toolbox


@pytest.fixture(params=["server", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> Iterator[Client | Store]:
    with Client(server) if request.param == "server" else Store(tmp_path / "data") as place:
        yield place


@pytest.fixture
def skill(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A skill of a name that no other test's has, for a server is shared."""
    name = "s" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[-40:]
    name = name.strip("-").replace("--", "-")
    files = {**GREETER, "SKILL.md": GREETER["SKILL.md"].replace("name: greeter", f"name: {name}")}
    return write(tmp_path / name, files)


def test_a_skill_lives_through_all_its_verbs(place: Client | Store, skill: Path) -> None:
    made = place.create_skill(skill, title="A title")
    assert made.id.startswith("skill_") and made.name == skill.name
    assert (made.default_version, made.latest_version) == ("1", "1")
    assert place.get_skill(made.id) == place.get_skill(made.name) == made
    assert made in place.list_skills()
    assert made.id in [found.id for found in place.list_skills("greet people")]

    same = place.push_skill(skill)
    assert same == made, "nothing has changed"
    (skill / "style.md").write_text("Be brief.\n")
    assert place.push_skill(skill).latest_version == "2"
    third = place.create_version(made.id, skill, default=True)
    assert third.version == "3"
    assert [v.version for v in place.list_versions(made.name)] == ["3", "2", "1"]
    assert place.get_skill(made.id).default_version == "3"
    assert place.set_default_version(made.id, "1").default_version == "1"

    assert place.load_skill(made.id).read_text("style.md") == "Always be kind.\n"
    latest = place.load_skill(made.id, "latest")
    assert latest.digest == Skill(skill).digest
    with Toolbox(latest, sandbox=False) as toolbox:
        read = toolbox.call("load_skill", {"name": skill.name, "path": "style.md"})
        assert read.text == "Be brief.\n"

    place.delete_skill(made.id, "2")
    assert len(place.list_versions(made.id)) == 2
    place.delete_skill(made.id)
    with pytest.raises(StoreError):
        place.get_skill(made.id)


def test_what_is_not_there_or_not_clear_is_told(place: Client | Store, skill: Path) -> None:
    with pytest.raises(StoreError, match="no skill is called `nobody`") as caught:
        place.get_skill("nobody")
    assert caught.value.code == "skill-not-found"
    one, two = place.create_skill(skill), place.create_skill(skill)
    assert one.id != two.id
    with pytest.raises(StoreError, match="2 skills are called") as caught:
        place.delete_skill(skill.name)
    assert caught.value.code == "skill-ambiguous"
    with pytest.raises(StoreError):
        place.load_skill(one.id, "7")
    for skill_id in (one.id, two.id):
        place.delete_skill(skill_id)


def test_a_skill_that_no_host_takes_is_refused_before_it_is_sent(place: Client | Store) -> None:
    loud = Skill.from_text("---\nname: Loud\ndescription: Shouts.\n---\n")
    with pytest.raises(SkillError) as caught:
        place.create_skill(loud)
    assert any(problem.severity == "error" for problem in caught.value.problems)


def test_the_four_verbs_work_by_themselves(server: str, skill: Path, tmp_path: Path) -> None:
    for where in ({"base_url": server}, {"store": tmp_path / "data"}):
        made = prowess.create_skill(skill, **where)
        assert prowess.get_skill(made.id, **where) == made
        assert made in prowess.list_skills(**where)
        prowess.delete_skill(made.id, **where)
        assert made not in prowess.list_skills(**where)
    with Store(tmp_path / "data") as store:
        prowess.create_skill(skill, store=store)
        assert len(store.list_skills()) == 1, "a store that was open stays open"


def test_the_server_and_the_key_come_from_the_environment_too(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_URL", server)
    monkeypatch.setenv("PROWESS_API_KEY", "do-not-tell")
    client = Client()
    assert repr(client) == f"<Client {server}>"
    client.list_skills()
    client.close()
    with pytest.raises(StoreError, match="closed"):
        client.list_skills()


def test_a_key_may_end_with_the_line_of_its_file(server: str) -> None:
    assert Client(server, "do-not-tell\n").list_skills() is not None
    with pytest.raises(prowess.ServerError, match="line end") as refused:
        Client(server, "do-not-tell\nmore")
    assert refused.value.code == "key-invalid"


def test_a_server_that_refuses_or_is_not_there_says_so(server: str) -> None:
    with pytest.raises(prowess.ServerError) as refused:
        Client(server).get_skill("skill_none")
    assert refused.value.status == 404 and refused.value.request_id
    with pytest.raises(prowess.ServerError, match="is `prowess serve` running there"):
        Client("http://127.0.0.1:1").list_skills()
