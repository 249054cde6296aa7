"""Built-in functions in the place of an object's methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any


def place_builtin(
    instance: object, owner: type, name: str, make: Callable[[Callable[..., Any], str], Callable[..., Any] | None]
) -> None:
    """Let an object's attribute be a built-in function in the place of a method; a subclass keeps its own method.

    Parameters
    ----------
    instance : object
        The object; complete.
    owner : type
        The class whose method it is.
    name : str
        Name of the method.
    make : callable
        Takes the method, for arguments that the function leaves to it, and the documentation; returns the function, or
        None where there is none.
    """
    method = getattr(owner, name)
    if getattr(type(instance), name) is not method:
        return
    in_python = object.__new__(type(instance))  # not the object: it would refer to itself
    vars(in_python).update(vars(instance))
    function = make(MethodType(method, in_python), documentation(method))
    if function is not None:
        vars(instance)[name] = function


def documentation(method: Callable[..., object]) -> str:
    """Return a method's documentation for a built-in function in its place: signature and docstring."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    bare = inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters])
    return f"{method.__name__}{bare}\n--\n\n{inspect.getdoc(method)}"
