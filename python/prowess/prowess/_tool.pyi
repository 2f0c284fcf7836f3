"""The types of `_tool.py`, which is also the module `prowess` inside the sandbox."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, overload

__all__ = ["Context", "Tool", "tool"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

class Context:
    """The user, container and metadata of a call, for ``build_tools(ctx)`` and ``ctx``
    arguments."""

    skill: str
    """The name of the skill."""
    folder: Path
    """The folder of the skill."""
    data: Path
    """The folder in which files are read and written."""
    user_id: str | None
    session_id: str | None
    metadata: dict[str, Any]
    """The ``context`` of the toolbox."""
    def __init__(
        self,
        skill: str = "",
        folder: str | PathLike[str] = ".",
        user_id: str | None = None,
        session_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        data: str | PathLike[str] = "/mnt/data",
    ) -> None: ...

class Tool(Generic[_P, _R]):
    """A function that a model may call. It can still be called as the function."""

    function: Callable[_P, _R]
    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of its arguments, from its type hints and its docstring."""
    def __init__(
        self,
        function: Callable[_P, _R],
        name: str | None = None,
        description: str | None = None,
    ) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def call(self, arguments: Mapping[str, Any], context: Context | None = None) -> Any:
        """Calls it as a model does: JSON values become what the type hints say, ``ctx`` gets
        the context, and the result of an async function is awaited."""

@overload
def tool(
    function: Callable[_P, _R], *, name: str | None = None, description: str | None = None
) -> Tool[_P, _R]: ...
@overload
def tool(
    function: None = None, *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[_P, _R]], Tool[_P, _R]]:
    """Makes a function a tool: ``@tool``, or ``@tool(name=…, description=…)``."""
