"""Agent Skills as tools of `llm`.

`llm` fixes the list of tools when a chain begins: what a tool adds later is never told to
the model. So everything is there in the first request, also the skills' own tools; calling
one of those loads its skill. It also finds a toolbox again, when a conversation goes on, by
what stands before the first `_` of a tool's name: so all names here begin with `Skills_`.
"""

import hashlib
import json
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import llm
import prowess

PREFIX = "Skills_"
LONGEST = 64
"""Characters of a tool's name that every provider takes."""

VISIBLE = {
    "application/pdf",
    "audio/mpeg",
    "audio/wav",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
}
"""What models can be shown. `llm` sends any other attachment as if it were sound."""

MOST_ATTACHED = 20_000_000
"""Bytes of a file that is attached."""

CALL_ANY = "call_skill_tool"


class SkillsError(click.ClickException):
    """Skills that cannot be had. `code` is a stable name of the reason."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.code = getattr(error, "code", "file-unreadable")


class Skills(llm.Toolbox):
    """Agent Skills: instructions, files and tools, loaded when a task needs them.

    sources: a folder, an archive or a URL of skills, or a list of them.
    files: files for the skills' code to work on.
    out: a folder in which the files are saved that skills make.
    attach: show images, PDFs and sounds that skills make to the model.
    code: let the model run commands of its own in the sandbox.
    form: "compact" is one tool to load all skills by, "per-skill" one for each.
    network: domains that code may reach.
    timeout: seconds that one call may take.
    reduced: run code even where this host lacks a layer of the sandbox.
    allow_private: fetch from private and local addresses too.
    """

    # The toolbox's names of tools, by those that the model knows.
    _names: dict[str, str]
    # Toolboxes that were made and not yet asked for their tools: such as are made together
    # go into one request, where two of them must not call their tools the same.
    _waiting: "weakref.WeakSet[Skills]" = weakref.WeakSet()

    def __init__(
        self,
        sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        files: str | Sequence[str] = (),
        out: str | None = None,
        attach: bool = True,
        code: bool = False,
        form: str = "compact",
        network: Iterable[str] = (),
        timeout: float | None = None,
        reduced: bool = False,
        allow_private: bool = False,
    ) -> None:
        # What `llm` keeps of these, to make the toolbox again another day from anywhere.
        places = [_absolute(place) for place in _several(sources)]
        given = [_absolute(file) for file in _several(files)]
        self._config.update(sources=places, files=given, network=list(network))
        self._config.update(out=out and _absolute(out))
        self._out = self._config["out"]
        self._attach = attach
        reserved = [name for other in self._waiting for name in other._names.values()]
        try:
            self._toolbox = prowess.Toolbox(
                places,
                form=form,  # type: ignore[arg-type]
                code=code,
                own_tools="at-once",
                reserved=reserved,
                network=list(network),
                timeout=timeout,
                reduced=reduced,
                fetch=prowess.Fetch(allow_private=allow_private),
            )
            for name, file in _by_name(given).items():
                self._toolbox.write_file(name, Path(file).read_bytes())
        except (prowess.ProwessError, OSError) as error:
            raise SkillsError(error) from error
        self._late = any(p.code == "own-tools-many" for p in self._toolbox.problems)
        for problem in self._toolbox.problems:
            click.echo(f"Skills: {problem.message}", err=True)
        self._names = {_shown(tool.name): tool.name for tool in self._toolbox.tools()}
        self._waiting.add(self)

    def tools(self) -> Iterator[llm.Tool]:
        self._waiting.discard(self)
        for tool in self._toolbox.tools():
            self._names[_shown(tool.name)] = tool.name
            yield self._tool(_shown(tool.name), tool.description, tool.input_schema)
        if self._late:
            yield self._tool(_shown(CALL_ANY), _CALL_ANY_TEXT, _CALL_ANY_SCHEMA)

    def _tool(self, name: str, description: str, schema: dict[str, Any]) -> llm.Tool:
        plugin = getattr(self, "plugin", None)
        return llm.Tool(name, description, schema, self._call, plugin)

    async def _call(self, /, llm_tool_call: llm.ToolCall, **_: Any) -> llm.ToolOutput:
        """Answers a call of any of the tools; `llm` awaits it, or runs it to its end."""
        name, arguments = llm_tool_call.name, llm_tool_call.arguments
        if self._late and name == _shown(CALL_ANY):
            name, arguments = arguments.get("tool", ""), arguments.get("arguments", {})
        else:
            name = self._names[name]
        known = self._toolbox.tools() if self._late else []
        result = await self._toolbox.acall(name, arguments)
        text = result.text
        if self._late:
            text += _new_tools(tool for tool in self._toolbox.tools() if tool not in known)
        attachments = [
            llm.Attachment(type=shown.mime_type, content=shown.content)
            for shown in result.attached
            if self._attach and shown.mime_type in VISIBLE
        ]
        for file in result.files:
            text += await self._keep(file, attachments)
        return llm.ToolOutput(text, attachments)

    async def _keep(self, file: prowess.File, attachments: list[llm.Attachment]) -> str:
        """Attaches and saves a file that a skill made, and says what became of it."""
        visible = file.mime_type in VISIBLE and file.size <= MOST_ATTACHED
        attach = self._attach and visible
        if attach:
            content = await file.aread()
            attachments.append(llm.Attachment(type=file.mime_type, content=content))
        if self._out is not None:
            try:
                return f"\n[{file.path} is saved as {file.save(self._out)}]"
            except (prowess.UsageError, OSError) as error:
                # The result of the call is worth more than one of its files.
                return f"\n[{file.path} is not saved: {error}]"
        if attach:
            return f"\n[{file.path} is attached]"
        return f"\n[{file.path} is not kept: that takes `out`, a folder, as an argument of Skills]"


_CALL_ANY_TEXT = (
    "Call a tool of a skill that was loaded. Loading the skill tells which tools it has and "
    "which arguments they take."
)
_CALL_ANY_SCHEMA = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "The tool's name."},
        "arguments": {"type": "object", "description": "Its arguments."},
    },
    "required": ["tool", "arguments"],
}


def _new_tools(tools: Iterable[prowess.Tool]) -> str:
    told = [json.dumps(tool.to_anthropic()) for tool in tools]
    if not told:
        return ""
    return f"\nThe tools, to be called by {_shown(CALL_ANY)}:\n" + "\n".join(told)


def _several(sources: Any) -> list[Any]:
    return [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)


def _by_name(files: list[str]) -> dict[str, str]:
    """The files by the names under which the code finds them."""
    named: dict[str, str] = {}
    for file in files:
        first = named.setdefault(os.path.basename(file), file)
        if first != file:
            raise prowess.UsageError(f"files: {first} and {file} have one name", "same-name")
    return named


def _absolute(place: str | os.PathLike[str]) -> str:
    text = os.fspath(place)
    is_url = text.startswith(("http://", "https://"))
    return text if is_url else os.path.abspath(os.path.expanduser(text))


def _shown(name: str) -> str:
    """The name by which a model knows a tool."""
    shown = PREFIX + name
    if len(shown) <= LONGEST:
        return shown
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{shown[: LONGEST - 9]}_{digest}"


@llm.hookimpl
def register_tools(register: Any) -> None:
    register(Skills)
