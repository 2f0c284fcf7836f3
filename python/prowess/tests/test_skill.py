"""A skill is read from a folder, an archive, a URL or a text."""

from __future__ import annotations

import pickle
from pathlib import Path

import prowess
import pytest
from prowess import Fetch, Skill, SkillError, SourceError

TEXT = "---\nname: haiku\ndescription: Writes haiku.\n---\nFive, seven, five.\n"


def test_everything_that_a_skill_says_can_be_read(greeter: Path) -> None:
    skill = Skill(greeter)
    assert skill.name == "greeter"
    assert skill.description == "Greets people. Use when someone is to be greeted."
    assert (skill.license, skill.compatibility) == ("MIT", "Python 3")
    assert skill.allowed_tools == ["Read", "Bash(git diff *)"]
    assert skill.metadata == {"author": "somebody"}
    assert skill.frontmatter["license"] == "MIT"
    assert skill.load_body() == "Read style.md, then greet."
    assert skill.list_files() == ["SKILL.md", "scripts/greet.py", "style.md"]
    assert skill.read_file("style.md") == b"Always be kind.\n"
    assert skill.read_text("style.md") == "Always be kind.\n"
    assert skill.requires == [] and not skill.has_python_tools
    (tool,) = skill.tools
    assert (tool.name, tool.script) == ("greet", "scripts/greet.py")
    assert [arg["name"] for arg in tool.args] == ["who", "style"]
    assert tool.args[1]["enum"] == ["warm", "cool"]
    assert repr(skill) == "<Skill 'greeter': 3 files>"


def test_the_same_skill_is_the_same_wherever_it_comes_from(
    greeter: Path, tmp_path: Path, site: tuple[Path, str]
) -> None:
    here = Skill(greeter)
    archive = tmp_path / "greeter.zip"
    archive.write_bytes(here.to_zip())
    folder, url = site
    (folder / "greeter.zip").write_bytes(here.to_zip())
    by_url = Skill(f"{url}/greeter.zip", fetch=Fetch(allow_private=True))
    others = [Skill(str(greeter)), Skill(greeter / "SKILL.md"), Skill(archive), by_url]
    assert {other.digest for other in others} == {here.digest}


def test_an_address_of_this_machine_is_fetched_only_if_that_was_said(
    site: tuple[Path, str],
) -> None:
    with pytest.raises(SourceError, match="not on the public internet") as caught:
        Skill(f"{site[1]}/greeter.zip")
    assert caught.value.code == "url-private-address"


def test_a_pin_takes_nothing_else(greeter: Path, site: tuple[Path, str]) -> None:
    folder, url = site
    (folder / "greeter.zip").write_bytes(Skill(greeter).to_zip())
    pinned = Fetch(allow_private=True, pin=Skill.from_text(TEXT).digest)
    with pytest.raises(SourceError) as caught:
        Skill(f"{url}/greeter.zip", fetch=pinned)
    assert caught.value.code == "url-changed"
    with pytest.raises(prowess.UsageError, match="pin"):
        Skill(f"{url}/greeter.zip", fetch=Fetch(pin="nonsense"))


def test_a_text_can_be_a_skill_but_declares_no_tools() -> None:
    skill = Skill.from_text(TEXT)
    assert (skill.name, skill.list_files()) == ("haiku", ["SKILL.md"])
    assert skill.allowed_tools is None and skill.validate("upload") == []
    declares = TEXT.replace("\n---\nFive", "\ntools: {t: {description: d, script: s}}\n---\nFive")
    with pytest.raises(SkillError) as caught:
        Skill.from_text(declares)
    assert caught.value.code == "tools-in-text"


def test_what_is_wrong_is_told_with_its_place_and_its_remedy() -> None:
    with pytest.raises(SkillError) as caught:
        Skill.from_text("# No frontmatter")
    error = caught.value
    assert error.code == "no-frontmatter"
    (problem,) = [problem for problem in error.problems if problem.severity == "error"]
    assert (problem.file, problem.line, problem.column) == ("SKILL.md", 1, 1)
    assert problem.fix and str(problem).startswith("SKILL.md:1:1: ")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.problems) == (str(error), error.code, error.problems)


def test_it_is_judged_by_the_rules_that_are_asked_for() -> None:
    skill = Skill.from_text("---\nname: Loud\ndescription: <b>Shouts</b>\n---\n")
    errors = lambda profile: {p.code for p in skill.validate(profile) if p.severity == "error"}  # noqa: E731
    assert not {problem for problem in skill.problems if problem.severity == "error"}
    assert "name-not-lowercase" in errors("strict")
    assert "upload-xml" in errors("upload")
    with pytest.raises(ValueError, match="profile"):
        skill.validate("severe")  # type: ignore[arg-type]


def test_a_skill_that_would_lose_a_linked_file_is_not_packed(greeter: Path) -> None:
    (greeter / "linked.md").symlink_to("style.md")
    skill = Skill(greeter)
    (problem,) = [p for p in skill.problems if p.code == "content-left-out"]
    assert (problem.severity, problem.file) == ("warning", "linked.md")
    (problem,) = [p for p in skill.validate("upload") if p.code == "content-left-out"]
    assert problem.severity == "error"
    with pytest.raises(SkillError, match="`linked.md` is left out: a link is never followed"):
        skill.to_zip()


def test_a_source_that_is_not_there_or_holds_none_or_several_is_an_error(
    greeter: Path, tmp_path: Path
) -> None:
    def code(source: Path) -> str:
        with pytest.raises(SourceError) as caught:
            Skill(source)
        return caught.value.code

    (tmp_path / "empty").mkdir()
    (greeter.parent / "other").mkdir()
    (greeter.parent / "other" / "SKILL.md").write_text(TEXT.replace("haiku", "other"))
    assert code(tmp_path / "missing") == "source-not-found"
    assert code(tmp_path / "empty") == "source-not-a-skill"
    assert code(greeter.parent) == "source-several-skills"


def test_a_file_is_read_only_if_it_is_the_skills(greeter: Path) -> None:
    skill = Skill(greeter)
    for path in ["nothing.md", "../greeter/style.md", "/etc/passwd", "scripts"]:
        with pytest.raises(SourceError, match="does not exist in the skill") as caught:
            skill.read_file(path)
        assert caught.value.code == "file-not-found"
