"""Skills become tools, and the tools can be called."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import prowess
import pytest
from conftest import GREETER, running, write
from prowess import Skill, SourceError, Toolbox


def names(toolbox: Toolbox) -> list[str]:
    return [tool.name for tool in toolbox.tools()]


def test_a_skill_is_loaded_and_its_own_tool_called(greeter: Path) -> None:
    with Toolbox(greeter, reduced=True) as toolbox:
        assert names(toolbox) == ["load_skill"]
        assert toolbox.skills == {"greeter": "Greets people. Use when someone is to be greeted."}
        loaded = toolbox.call("load_skill", {"name": "greeter"})
        assert loaded.text.startswith("Read style.md, then greet.") and not loaded.is_error
        assert loaded.loaded == toolbox.loaded == ["greeter"]
        assert names(toolbox) == ["load_skill", "greeter__greet"]
        style = toolbox.call("load_skill", {"name": "greeter", "path": "style.md"})
        assert style.text == "Always be kind.\n"
        greeted = toolbox.call("greeter__greet", '{"who": "Ada"}')
        assert greeted.text.startswith("Hello, Ada (warm)") and greeted.skill == "greeter"
        (card,) = greeted.files
        assert (card.path, card.mime_type, card.size) == ("card.txt", "text/plain", 8)
        assert card.read() == b"Dear Ada"


def test_a_made_file_is_saved_under_its_own_path(greeter: Path, tmp_path: Path) -> None:
    with Toolbox(greeter, reduced=True, own_tools="at-once") as toolbox:
        (card,) = toolbox.call("greeter__greet", {"who": "Bo"}).files
        place = card.save(tmp_path / "out")
        assert place == tmp_path / "out" / "card.txt" and place.read_text() == "Dear Bo"
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "card.txt").symlink_to(tmp_path / "precious")
        with pytest.raises(prowess.UsageError, match="leads out"):
            card.save(tmp_path / "links")
        assert not (tmp_path / "precious").exists()


def test_hidden_files_that_exist_are_not_replaced(greeter: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine" / ".git" / "config"
    config.parent.mkdir(parents=True)
    config.write_text("mine")
    with Toolbox(greeter, code=True, reduced=True) as toolbox:
        command = "mkdir .git; echo theirs > .git/config"
        (made,) = toolbox.call("bash_code_execution", {"command": command}).files
        with pytest.raises(prowess.UsageError, match="is hidden") as caught:
            made.save(tmp_path / "mine")
        assert caught.value.code == "file-hidden" and config.read_text() == "mine"
        assert made.save(tmp_path / "new").read_text() == "theirs\n"


def test_files_can_be_given_to_the_code_and_taken_from_it(greeter: Path) -> None:
    with Toolbox(greeter, code=True, reduced=True) as toolbox:
        toolbox.write_file("in/a.txt", "given")
        assert toolbox.list_files() == ["in/a.txt"]
        toolbox.call("bash_code_execution", {"command": "cat in/a.txt > b.txt"})
        assert toolbox.read_file("b.txt") == b"given"
        with pytest.raises(prowess.SandboxError):
            toolbox.write_file("../outside", b"")
        with pytest.raises(prowess.SandboxError, match="nothing.txt"):
            toolbox.read_file("nothing.txt")
    with Toolbox(greeter, sandbox=False) as toolbox:
        with pytest.raises(prowess.SandboxError) as caught:
            toolbox.write_file("a.txt", "given")
        assert caught.value.code == "sandbox-unavailable"


def test_a_failing_call_is_a_result_that_a_model_can_act_on(greeter: Path) -> None:
    with Toolbox(greeter, reduced=True) as toolbox:
        early = toolbox.call("greeter__greet", {"who": "Ada"})
        assert early.is_error and "load that skill first" in early.text
        assert toolbox.call("load_skill", {"name": "nobody"}).is_error
        assert "there is no tool" in toolbox.call("nonsense").text
        toolbox.load("greeter")
        wrong = toolbox.call("greeter__greet", {"who": "Ada", "style": "rude"})
        assert wrong.is_error and "style" in wrong.text
        with pytest.raises(prowess.UsageError, match="not JSON"):
            toolbox.call("load_skill", "{")


def test_tools_are_told_in_the_words_of_each_vendor(greeter: Path) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        (tool,) = toolbox.tools()
        assert tool.to_openai()["function"]["parameters"] == tool.input_schema
        assert tool.to_responses()["name"] == tool.to_anthropic()["name"] == "load_skill"
        assert tool.to_anthropic()["input_schema"]["properties"]["name"]["enum"] == ["greeter"]
        assert "- greeter: Greets people." in tool.description
        assert toolbox.catalogue().startswith("- greeter: Greets people.")


def test_the_forms_and_the_names_of_others_can_be_had(greeter: Path) -> None:
    with Toolbox(greeter, form="per-skill", sandbox=False) as toolbox:
        assert names(toolbox) == ["load_skill_greeter"]
        assert toolbox.owns("read_skill_resource")
    with Toolbox(greeter, all_names=True, code=True, reduced=True) as toolbox:
        assert {"run_skill_script", "bash_code_execution"} <= set(names(toolbox))
        ran = toolbox.call("bash_code_execution", {"command": "cat /skills/greeter/style.md"})
        assert ran.text == "Always be kind."
    with Toolbox(greeter, reserved=["load_skill"], sandbox=False) as toolbox:
        assert names(toolbox) == ["skills_load"]
    for wrong in [{"form": "round"}, {"own_tools": "never"}, {"network": ["x"]}, {"timeout": -1}]:
        with pytest.raises(prowess.UsageError, match=next(iter(wrong))):
            Toolbox(greeter, **wrong)  # type: ignore[arg-type]


def test_own_tools_can_be_there_at_once_also_functions(greeter: Path) -> None:
    code = """
    from prowess import tool

    @tool
    def who(ctx) -> str:
        "Tells who asks."
        return ctx.metadata["user"]
    """
    functions = {
        "SKILL.md": "---\nname: maths\ndescription: Counts.\n---\n",
        "tools.py": textwrap.dedent(code),
    }
    write(greeter.parent / "maths", functions)
    options = {"own_tools": "at-once", "reduced": True, "context": {"user": "ada"}}
    with Toolbox(greeter.parent, **options) as toolbox:
        assert names(toolbox) == ["load_skill", "greeter__greet", "maths__who"]
        assert toolbox.call("maths__who").text == "ada"
        assert toolbox.loaded == ["maths"]


def test_too_many_skills_with_tools_are_told_and_show_them_when_loaded(tmp_path: Path) -> None:
    for number in range(25):
        name = f"greeter-{number}"
        files = {**GREETER, "SKILL.md": GREETER["SKILL.md"].replace("greeter", name)}
        write(tmp_path / "many" / name, files)
    with Toolbox(tmp_path / "many", own_tools="at-once", reduced=True) as toolbox:
        assert [problem.code for problem in toolbox.problems] == ["own-tools-many"]
        assert names(toolbox) == ["load_skill"]
        toolbox.call("load_skill", {"name": "greeter-7"})
        assert names(toolbox) == ["load_skill", "greeter_7__greet"]


def test_sources_can_be_mixed_and_what_is_hidden_is_told(greeter: Path, tmp_path: Path) -> None:
    mine = write(tmp_path / "mine" / "greeter", GREETER)
    text = Skill.from_text("---\nname: haiku\ndescription: Mine.\n---\n")
    with Toolbox([greeter, str(mine), text], sandbox=False) as toolbox:
        assert list(toolbox.skills) == ["greeter", "haiku"]
        (shadowed,) = toolbox.shadowed
        assert (shadowed.hidden, shadowed.by) == (str(greeter), str(mine))


def test_what_changes_in_a_folder_is_seen_when_it_is_looked_at_again(greeter: Path) -> None:
    with Toolbox(greeter.parent, sandbox=False) as toolbox:
        assert toolbox.refresh() is False
        write(greeter.parent / "new", {"SKILL.md": "---\nname: new\ndescription: New.\n---\n"})
        write(greeter.parent / "broken", {"SKILL.md": "nothing"})
        assert toolbox.refresh() is True
        assert list(toolbox.skills) == ["greeter", "new"]
        assert [problem.code for problem in toolbox.problems] == ["no-frontmatter"]


def test_a_source_that_is_not_there_is_an_error_and_not_an_empty_toolbox(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        Toolbox([tmp_path / "missing"])
    assert caught.value.code == "source-not-found"
    with pytest.raises(SourceError, match="no SKILL.md in this folder or below"):
        Toolbox(tmp_path)
    with pytest.raises(SourceError, match="no sources"):
        Toolbox([])


def test_without_a_sandbox_skills_are_read_and_nothing_runs(
    greeter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        assert not toolbox.has_sandbox
        assert "they need a sandbox" in toolbox.call("load_skill", {"name": "greeter"}).text
    monkeypatch.setattr("prowess._toolbox.find_binary", lambda: Path("/no/launcher"))
    with Toolbox(greeter, reduced=True) as toolbox:
        toolbox.refresh()
        (problem,) = toolbox.problems
        assert not toolbox.has_sandbox and "/no/launcher" in problem.message
    for wanted in [{"sandbox": True}, {"code": True}]:
        with pytest.raises(prowess.SandboxError):
            Toolbox(greeter, reduced=True, **wanted)
    with pytest.raises(prowess.ToolboxError, match="code execution is enabled"):
        Toolbox(greeter, code=True, sandbox=False)


def test_a_closed_toolbox_says_so_and_leaves_nothing_behind(
    greeter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    toolbox = Toolbox(greeter, reduced=True, own_tools="at-once")
    (card,) = toolbox.call("greeter__greet", {"who": "Ada"}).files
    assert list(place.iterdir())
    toolbox.close()
    toolbox.close()
    assert not list(place.iterdir())
    with pytest.raises(prowess.ToolboxError, match="closed"):
        toolbox.tools()
    with pytest.raises(prowess.ToolboxError, match="closed"):
        card.read()
    program = "import prowess, sys; t = prowess.Toolbox(sys.argv[1], reduced=True)"
    subprocess.run([sys.executable, "-c", program, greeter], check=True)
    assert not list(place.iterdir()), "one that was forgotten"


def test_nothing_of_the_environment_is_seen_by_a_skills_code(
    greeter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "do-not-tell")
    with Toolbox(greeter, code=True, reduced=True) as toolbox:
        seen = toolbox.call("bash_code_execution", {"command": "env; cat /proc/*/environ"})
        assert "do-not-tell" not in seen.text


def test_an_interrupt_ends_a_call_and_what_it_had_started(greeter: Path) -> None:
    program = """
    import prowess, sys
    with prowess.Toolbox(sys.argv[1], code=True, reduced=True) as toolbox:
        try:
            toolbox.call("bash_code_execution", {"command": "sleep " + sys.argv[2][1:]})
        except KeyboardInterrupt:
            print("interrupted", toolbox.call("load_skill", {"name": "greeter"}).is_error)
    """
    # A number that nobody else sleeps for; the child's own argument has a letter before it.
    seconds = f"600.{os.getpid()}"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), greeter, f"s{seconds}"],
        stdout=subprocess.PIPE,
        text=True,
    )
    while not running(seconds):
        assert child.poll() is None
    os.kill(child.pid, signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert (said, child.returncode) == ("interrupted False\n", 0)
    assert not running(seconds)


def test_a_forked_process_is_told_that_it_cannot_use_it(greeter: Path) -> None:
    program = """
    import os, prowess, sys
    prowess.Skill(sys.argv[1])
    if os.fork() == 0:
        try:
            prowess.Skill(sys.argv[1])
        except prowess.ProwessError as error:
            print(error.code, flush=True)
        os._exit(0)
    os.wait()
    """
    words = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), greeter]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("forked\n", "")


def test_a_result_can_be_told_as_json(greeter: Path) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        result = toolbox.call("load_skill", {"name": "greeter", "path": "style.md"})
        assert json.dumps({"content": result.text, "is_error": result.is_error})
