"""The functions of a tools.py are imported and tested here as they are in the sandbox."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from conftest import write
from prowess import Context, Toolbox, tool

CODE = '''
import enum
from pathlib import Path
from typing import Annotated, Literal, Optional

from prowess import Context, tool


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


@tool
def convert(
    value: float,
    unit: Unit = Unit.METRE,
    digits: Annotated[int, "How exactly."] = 2,
    style: Literal["short", "long"] = "short",
    tags: Optional[list[str]] = None,
    place: Path = Path("."),
    **more: str,
) -> str:
    """Convert a length.

    Args:
        value: The length.
        style: How the result
            is written.
    """
    return f"{value:.{digits}f} {unit.value} {style} {tags} {more}"


@tool(name="whose", description="Whose data it is.")
async def owner(ctx: Context) -> dict:
    (ctx.data / "seen.txt").write_text(ctx.skill)
    return {"team": ctx.metadata["team"]}


@tool
def fails(count: int):
    """Fails."""
    raise ValueError(f"no {count}")
'''


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    head = "---\nname: lengths\ndescription: Converts lengths.\n---\n"
    return write(tmp_path / "lengths", {"SKILL.md": head, "tools.py": CODE})


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tool_is_described_here_as_in_the_sandbox(skill: Path) -> None:
    tools = imported(skill / "tools.py")
    with Toolbox(skill, own_tools="at-once", reduced=True) as toolbox:
        there = {t.name: (t.description, t.input_schema) for t in toolbox.tools()}
    for here in (tools.convert, tools.owner, tools.fails):
        assert there[f"lengths__{here.name}"] == (here.description, here.input_schema)
    assert tools.convert.description == "Convert a length."
    properties = tools.convert.input_schema["properties"]
    assert properties["value"] == {"type": "number", "description": "The length."}
    assert properties["style"]["description"] == "How the result is written."


def test_a_tool_is_called_as_a_plain_function(skill: Path) -> None:
    tools = imported(skill / "tools.py")
    assert tools.convert(2.5, tools.Unit.FOOT, digits=1) == "2.5 ft short None {}"
    assert tools.convert.__name__ == "convert" and tools.convert.__doc__.startswith("Convert")
    with pytest.raises(ValueError, match="no 3"):
        tools.fails(3)


def test_a_tool_is_called_as_a_model_calls_it(skill: Path, tmp_path: Path) -> None:
    tools = imported(skill / "tools.py")
    arguments = {"value": 2, "unit": "ft", "digits": 1.0, "tags": ["a"], "colour": "red"}
    result = tools.convert.call(arguments)
    context = Context(skill="lengths", data=tmp_path, metadata={"team": "red"})
    assert tools.owner.call({}, context) == {"team": "red"}
    assert (tmp_path / "seen.txt").read_text() == "lengths"
    team = {"team": "red"}
    with Toolbox(skill, own_tools="at-once", reduced=True, context=team) as toolbox:
        assert toolbox.call("lengths__convert", arguments).text == result
        assert toolbox.call("lengths__whose").text.startswith('{"team": "red"}')
        failed = toolbox.call("lengths__fails", {"count": 3})
        assert failed.is_error and "ValueError: no 3" in failed.text


def test_what_cannot_be_a_tool_is_refused_with_the_same_words(skill: Path) -> None:
    wrong = '''
    from prowess import tool

    @tool
    def positional(first, /):
        "Takes what has no name."
    '''
    (skill / "tools.py").write_text(textwrap.dedent(wrong))
    with pytest.raises(TypeError) as caught:
        imported(skill / "tools.py")
    with Toolbox(skill, reduced=True) as toolbox:
        loaded = toolbox.call("load_skill", {"name": "lengths"})
    assert f"TypeError: {caught.value}" in loaded.text


def test_a_context_has_defaults() -> None:
    @tool
    def where(ctx: Context, more: str = "") -> str:
        return f"{ctx.data} {ctx.user_id} {ctx.metadata}{more}"

    assert where.call({"more": "!"}) == "/mnt/data None {}!"
    assert where(Context(user_id="ada")) == "/mnt/data ada {}"
