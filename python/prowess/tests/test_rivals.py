"""What two other systems for skills promise or do, feature by feature, and where it is shown
that it works here, or why something else is better.

The first is an `llm` plugin, with what its design promised and what it ships; the second is
an agent framework with skills. A row names tests: of this file, or of another as
`path::name`, and a name that is not there fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import prowess
import pytest
from conftest import GREETER, write
from prowess import Skill, SkillError, SourceError, Toolbox

ROOT = Path(__file__).resolve().parents[3]
RIVALS = "crates/toolbox/tests/suite/rivals.rs::"
PLUGIN = "python/llm-tools-prowess/tests/test_plugin.py::"


@dataclass(frozen=True)
class Row:
    feature: str
    shown_by: list[str | Callable[..., None]] = field(default_factory=list)
    otherwise: str = ""
    """Why what is done here instead is better, where it is not the same."""


def a_home_is_found_and_a_missing_path_is_an_error(
    greeter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Toolbox("~/skills", sandbox=False) as toolbox:
        assert list(toolbox.skills) == ["greeter"]
    with pytest.raises(SourceError):
        Toolbox("~/nothing")


def a_path_never_leads_out_of_a_skill(greeter: Path) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        for path in ["../../secret", "/etc/passwd", "scripts/../../x"]:
            assert toolbox.call("load_skill", {"name": "greeter", "path": path}).is_error


def names_and_descriptions_are_held_to_the_standard() -> None:
    def errors(name: str, description: str = "Does it.") -> set[str]:
        skill = Skill.from_text(f"---\nname: {name}\ndescription: {description}\n---\n")
        return {p.code for p in skill.validate("upload") if p.severity == "error"}

    assert errors("fine-name") == set()
    for name in ["Loud", "-edge", "two--hyphens", "n" * 65, "claude-helper", "my-anthropic"]:
        assert errors(name), name
    assert errors("fine-name", "Says <b>hi</b>.")
    assert errors("fine-name", "d" * 1025)
    with pytest.raises(SkillError):
        Skill.from_text("---\nname: a\ndescription: ''\n---\n")


def a_long_compatibility_and_a_foreign_folder_are_told(tmp_path: Path) -> None:
    text = f"---\nname: a\ndescription: d\ncompatibility: {'c' * 501}\n---\n"
    skill = Skill(write(tmp_path / "other", {"SKILL.md": text}))
    codes = {problem.code for problem in skill.problems}
    assert {"compatibility-too-long", "name-mismatch"} <= codes


def a_script_cannot_lie_outside_of_its_skill(tmp_path: Path) -> None:
    text = GREETER["SKILL.md"].replace("scripts/greet.py", "../../bin/sh")
    skill = Skill(write(tmp_path / "greeter", {**GREETER, "SKILL.md": text}))
    assert skill.tools == []
    assert any("../../bin/sh" in problem.message for problem in skill.problems)


def a_registry_is_a_toolbox_over_several_sources(greeter: Path, tmp_path: Path) -> None:
    one = Skill.from_text("---\nname: one\ndescription: One.\n---\n")
    with Toolbox([str(greeter), greeter.parent, one], sandbox=False) as toolbox:
        assert toolbox.skills["one"] == "One."
        (greeter / "SKILL.md").unlink()
        assert toolbox.refresh() and list(toolbox.skills) == ["one"]


def the_catalogue_is_a_text_of_its_own(greeter: Path) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        line = "- greeter: Greets people. Use when someone is to be greeted."
        assert toolbox.catalogue().strip() == line


def a_name_that_is_no_skill_is_answered_with_those_that_are(greeter: Path) -> None:
    with Toolbox(greeter, sandbox=False) as toolbox:
        wrong = toolbox.call("load_skill", {"name": "greter"})
        assert wrong.is_error and "greeter" in wrong.text


PLUGIN_ROWS = [
    Row(
        "a path is one skill, or a folder of skills",
        [RIVALS + "a_source_is_one_skill_or_a_folder_of_them_or_an_archive_and_a_missing_one_is_reported"],
    ),
    Row("a zip archive (promised, not shipped)", [PLUGIN + "test_a_skill_may_be_a_zip_or_a_url"]),
    Row("a URL (promised; gives a toolbox without tools)", [PLUGIN + "test_a_skill_may_be_a_zip_or_a_url"]),
    Row(
        "load_skill_X(path) (shipped as two tools for each skill)",
        [RIVALS + "the_plugins_tools_take_a_path_and_one_call_reads_any_file_before_or_after_loading"],
        otherwise="one tool for all is the default: a thousand skills are one tool, not two thousand",
    ),
    Row(
        "the frontmatter in the tool's description",
        ["crates/toolbox/tests/suite/catalogue.rs::one_tool_per_skill_is_described_by_its_frontmatter"],
    ),
    Row(
        "caching with a time to live (promised, not shipped)",
        ["crates/source/tests/url/caching.rs::what_is_fresh_is_used_without_asking_and_what_is_not_is_confirmed"],
    ),
    Row(
        "validation of remote content (promised, not shipped)",
        [
            "crates/source/tests/url/hostile.rs::every_hostile_archive_is_refused_by_url_as_it_is_as_a_file",
            a_path_never_leads_out_of_a_skill,
        ],
    ),
    Row(
        "a second load says that it is loaded",
        ["crates/toolbox/tests/suite/loading.rs::a_skill_is_loaded_once_and_then_only_mentioned"],
    ),
    Row(
        "a file before its skill gives a warning, the whole skill and the file",
        [RIVALS + "the_plugins_tools_take_a_path_and_one_call_reads_any_file_before_or_after_loading"],
        otherwise="it gives the file that was asked for: the rest is words that nobody asked for",
    ),
    Row(
        "only Markdown at the top is listed",
        [RIVALS + "the_plugins_tools_take_a_path_and_one_call_reads_any_file_before_or_after_loading"],
        otherwise="all files are listed, scripts and folders too",
    ),
    Row(
        "`~` is a home; a missing path gives no skills",
        [a_home_is_found_and_a_missing_path_is_an_error],
        otherwise="a missing path is an error: a model without its tools answers wrongly",
    ),
    Row("ordinary YAML (four faults of its reader)", [RIVALS + "ordinary_yaml_means_what_it_states"]),
    Row(
        "what is loaded is forgotten when a conversation goes on",
        [PLUGIN + "test_a_conversation_goes_on_with_the_same_skills_from_anywhere"],
    ),
]

FRAMEWORK_ROWS = [
    Row(
        "a skill of a folder, of a SKILL.md, and of a text that declares no tools",
        [
            RIVALS + "a_skill_can_be_text_alone_and_then_declares_no_tools",
            "python/prowess/tests/test_skill.py::test_a_text_can_be_a_skill_but_declares_no_tools",
        ],
    ),
    Row(
        "rules for names and descriptions; reserved words; no XML tags",
        [names_and_descriptions_are_held_to_the_standard],
        otherwise="they bind on upload; a skill on a disk that breaks one is used, and told of",
    ),
    Row(
        "compatibility up to 500; a warning when the name is not the folder's",
        [a_long_compatibility_and_a_foreign_folder_are_told],
    ),
    Row(
        "license, compatibility, metadata",
        ["python/prowess/tests/test_skill.py::test_everything_that_a_skill_says_can_be_read"],
    ),
    Row(
        "allowed-tools in two spellings (kept, not enforced)",
        [
            RIVALS + "allowed_tools_is_read_in_each_of_its_spellings",
            "crates/toolbox/tests/suite/allowed.rs::only_what_is_allowed_is_permitted_while_the_skill_is_active",
        ],
        otherwise="in three spellings, and enforced",
    ),
    Row(
        "mode A, words; mode B, tools.py; mode C, declared scripts",
        [RIVALS + "the_three_modes_work_side_by_side_and_each_tool_bears_its_skills_name"],
    ),
    Row(
        "declared scripts: arguments by position, standard error told, exit codes, interpreters",
        [
            "crates/toolbox/tests/suite/declared.rs::arguments_go_in_declared_order_with_defaults_and_empty_places",
            "crates/toolbox/tests/suite/declared.rs::a_failure_is_reported_with_its_code_and_all_its_output",
            "crates/toolbox/tests/suite/declared.rs::the_interpreter_is_found_by_ending_by_first_line_or_by_the_file_itself",
        ],
        otherwise="arguments have types, and may be optional with a default",
    ),
    Row(
        "a script's time is bounded (300 s, later); its path may escape the skill",
        [
            "crates/toolbox/tests/suite/declared.rs::a_script_out_of_time_is_reported_as_such",
            a_script_cannot_lie_outside_of_its_skill,
        ],
        otherwise="a script outside of the skill is no tool, and that is told",
    ),
    Row(
        "a script is marked destructive, so that a gate can ask; a sandbox is an option",
        ["python/prowess/tests/test_toolbox.py::test_nothing_of_the_environment_is_seen_by_a_skills_code"],
        otherwise="all code runs in the sandbox, always; asking before a call is the client's, as `llm --ta` does",
    ),
    Row(
        "tools.py is imported in the process, at construction or at first load",
        ["crates/toolbox/tests/suite/functions.rs::functions_are_called_with_their_arguments"],
        otherwise="it is imported in the sandbox, and never in the process that loads the skill",
    ),
    Row(
        "build_tools(ctx) gets user, session and metadata",
        ["python/prowess/tests/test_toolbox.py::test_own_tools_can_be_there_at_once_also_functions"],
    ),
    Row(
        "tools bear their skill's name",
        ["crates/toolbox/tests/suite/lifecycle.rs::tools_of_several_skills_and_of_the_client_never_collide"],
    ),
    Row(
        "sources as text or path, searched below; a missing one is an error",
        [
            "python/prowess/tests/test_toolbox.py::test_sources_can_be_mixed_and_what_is_hidden_is_told",
            "python/prowess/tests/test_toolbox.py::test_a_source_that_is_not_there_is_an_error_and_not_an_empty_toolbox",
        ],
    ),
    Row(
        "a source has a label, which the catalogue shows to the model",
        ["python/prowess/tests/test_toolbox.py::test_sources_can_be_mixed_and_what_is_hidden_is_told"],
        otherwise="where a skill comes from is for people: it is told when one hides another; to a model it is noise",
    ),
    Row(
        "a registry: last source wins silently; add, remove, get, names",
        [a_registry_is_a_toolbox_over_several_sources, RIVALS + "later_sources_win_and_report_it_and_the_catalogue_is_in_the_tool"],
        otherwise="the last source wins and says so; what is added or removed on the disk is seen at the next look",
    ),
    Row("the catalogue as a text for a system prompt", [the_catalogue_is_a_text_of_its_own]),
    Row(
        "load_skill(name): catalogue in its description, names checked, errors list them",
        [
            "crates/toolbox/tests/suite/catalogue.rs::the_compact_form_is_one_tool_with_all_names",
            a_name_that_is_no_skill_is_answered_with_those_that_are,
        ],
    ),
    Row(
        "loading is idempotent; a skill's tools are there in the next turn",
        [
            "crates/toolbox/tests/suite/declared.rs::a_declared_tool_appears_when_its_skill_is_loaded",
            "crates/toolbox/tests/suite/loading.rs::a_skill_is_loaded_once_and_then_only_mentioned",
        ],
    ),
    Row(
        "skills that require others: order, circles, gaps",
        [
            "crates/toolbox/tests/suite/lifecycle.rs::required_skills_are_loaded_first_and_stand_before_the_instructions",
            "crates/toolbox/tests/suite/lifecycle.rs::a_circle_or_a_gap_is_reported_with_its_chain",
        ],
    ),
    Row(
        "files of a skill are left to the agent's own tools",
        ["crates/toolbox/tests/suite/loading.rs::a_file_of_a_skill_is_the_same_bytes_however_its_path_is_written"],
        otherwise="load_skill reads them, for an agent may have no such tools, and a skill no folder",
    ),
    Row(
        "skills in a configuration file, passed on to teams",
        ["crates/cli/tests/docs.rs::the_guide_runs"],
        otherwise="a server holds skills for everyone, in versions; a program gives a list to Toolbox",
    ),
    Row(
        "no versions, archives, URLs, search, typed arguments, streams, usage by skill",
        [
            "python/prowess/tests/test_stored.py::test_a_skill_lives_through_all_its_verbs",
            "python/prowess/tests/test_skill.py::test_the_same_skill_is_the_same_wherever_it_comes_from",
            "crates/toolbox/tests/suite/catalogue.rs::a_search_finds_by_name_description_and_use_best_first",
        ],
    ),
    Row(
        "a subset of YAML (eight faults of its reader)",
        [RIVALS + "ordinary_yaml_means_what_it_states"],
    ),
]

ROWS = PLUGIN_ROWS + FRAMEWORK_ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.feature)
def test_every_row_is_shown_by_a_test_that_is_there(row: Row) -> None:
    assert row.shown_by
    for shown in row.shown_by:
        if isinstance(shown, str):
            path, name = shown.split("::")
            text = (ROOT / path).read_text()
            assert re.search(rf"\b(fn|def) {re.escape(name)}\(", text), f"{shown} is gone"


CHECKS = {check.__name__: check for row in ROWS for check in row.shown_by if callable(check)}


@pytest.mark.parametrize("name", CHECKS)
def test_what_only_python_shows(name: str, request: pytest.FixtureRequest) -> None:
    check = CHECKS[name]
    wanted = [word for word in check.__annotations__ if word != "return"]
    check(**{word: request.getfixturevalue(word) for word in wanted})


def test_the_package_has_no_names_but_those_it_means_to_have() -> None:
    assert set(prowess.__all__) <= set(dir(prowess))
