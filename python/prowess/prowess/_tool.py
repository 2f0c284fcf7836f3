"""The module that a `tools.py` imports: `from prowess import tool`.

A function with the decorator becomes a tool of the model. Its type hints become the
types of its arguments, its docstring the description; the docstring's text about an
argument (`Args:` or `:param name:`) becomes that argument's description. An argument
named `ctx`, or hinted as `Context`, gets the context and is not shown to the model.
"""

import enum
import functools
import inspect
import json
import pathlib
import re
import typing

__all__ = ["Context", "Tool", "tool"]


class Context:
    """The user, container and metadata of a call, for `build_tools(ctx)` and `ctx` arguments.

    A test of a `tools.py` can make one: `Context(data=folder, metadata={"team": "red"})`.
    """

    def __init__(
        self,
        skill="",
        folder=".",
        user_id=None,
        session_id=None,
        metadata=None,
        data="/mnt/data",
    ):
        self.skill = skill
        self.folder = pathlib.Path(folder)
        self.data = pathlib.Path(data)
        self.user_id = user_id
        self.session_id = session_id
        self.metadata = {} if metadata is None else metadata


class Tool:
    """A function that a model may call. It can still be called as the function."""

    def __init__(self, function, name=None, description=None):
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or function.__name__
        about, arguments = _read_docstring(inspect.getdoc(function) or "")
        self.description = description or about
        self._hints = typing.get_type_hints(function, include_extras=True)
        self._parameters = inspect.signature(function).parameters
        self.input_schema = self._schema(arguments)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def _schema(self, described):
        properties, required, open_ended = {}, [], False
        for name, parameter in self._parameters.items():
            if self._is_context(name):
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                open_ended = True
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise TypeError(f"{self.name}: the argument {name} cannot be passed by name")
            schema = _schema_of(self._hints.get(name, typing.Any))
            if name in described:
                schema.setdefault("description", described[name])
            if parameter.default is parameter.empty:
                required.append(name)
            elif _is_plain(parameter.default):
                schema["default"] = parameter.default
            properties[name] = schema
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": open_ended,
        }

    def _is_context(self, name):
        return name == "ctx" or self._hints.get(name) is Context

    def call(self, arguments, context=None):
        """Calls it as a model does: JSON values become what the type hints say, `ctx` gets
        the context, and the result of an async function is awaited."""
        given = {
            name: _made(self._hints.get(name, typing.Any), value)
            for name, value in arguments.items()
        }
        for name in self._parameters:
            if self._is_context(name):
                given[name] = Context() if context is None else context
        return _awaited(self.function(**given))


def tool(function=None, *, name=None, description=None):
    """Makes a function a tool: `@tool`, or `@tool(name=…, description=…)`."""
    if function is None:
        return lambda function: Tool(function, name, description)
    return Tool(function, name, description)


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_UNIONS = {typing.Union, getattr(__import__("types"), "UnionType", typing.Union)}


def _schema_of(hint):
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is typing.Annotated:
        schema = _schema_of(inner[0])
        notes = [note for note in inner[1:] if isinstance(note, str)]
        return {**schema, "description": notes[0]} if notes else schema
    if origin in _UNIONS:
        return {"anyOf": [_schema_of(one) for one in inner]}
    if origin is typing.Literal:
        return _one_of(list(inner))
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return _one_of([member.value for member in hint])
    if inspect.isclass(hint) and issubclass(hint, pathlib.PurePath):
        return {"type": "string"}
    if (origin or hint) in (list, set, frozenset, tuple):
        kinds = [one for one in inner if one is not Ellipsis]
        same = len(set(map(repr, kinds))) == 1
        return {"type": "array", "items": _schema_of(kinds[0])} if same else {"type": "array"}
    if (origin or hint) is dict or typing.is_typeddict(hint):
        return {"type": "object"}
    return {}


def _one_of(values):
    # Some providers accept an enum only with its type.
    kinds = {_PLAIN.get(type(value)) for value in values}
    kind = {"type": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}
    return {**kind, "enum": values}


def _made(hint, value):
    """A JSON value as the type that the function expects."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _made(inner[0], value)
    if origin in _UNIONS:
        chosen = [one for one in inner if one is not type(None)]
        return _made(chosen[0], value) if value is not None and len(chosen) == 1 else value
    kind = origin or hint
    if inspect.isclass(kind):
        if issubclass(kind, (enum.Enum, pathlib.PurePath)):
            return kind(value)
        if kind in (set, frozenset, tuple) and isinstance(value, list):
            return kind(value)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if kind is int and isinstance(value, float):
            return int(value)
    return value


def _is_plain(value):
    try:
        return len(json.dumps(value)) <= 200
    except (TypeError, ValueError):
        return False


def _awaited(value):
    if not inspect.isawaitable(value):
        return value
    import asyncio

    async def wait():
        return await value

    return asyncio.run(wait())


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_PARAM = re.compile(r"^\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


def _read_docstring(text):
    """The descriptions of the function and of each argument in a docstring."""
    about, arguments, section, last = [], {}, None, None
    for line in text.splitlines():
        named, param = _SECTION.match(line), _PARAM.match(line)
        if named:
            section, last = named[1], None
        elif param:
            section, last = "Args", param[1]
            arguments[last] = param[2]
        elif section is None:
            about.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            entry = _ARGUMENT.match(line)
            if entry:
                last = entry[1]
                arguments[last] = entry[2]
            elif last and line.strip():
                arguments[last] += " " + line.strip()
    return "\n".join(about).strip(), arguments
