"""Reading of YAML that somebody else wrote: with an end to its size, its depth and its aliases, and numbers as in ROS.

An alias stands for all that its anchor has. Ten lines of aliases of aliases stand for more than any memory, and nested
lists end the stack of the parser; so the events of the parser are counted first, each alias as what it stands for.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from arm_control.exceptions import ParameterError

MOST_BYTES = 10_000_000
"""Largest file."""
MOST_VALUES = 1_000_000
"""Most values, those of aliases included."""
DEEPEST = 50
"""Levels of lists and mappings in each other."""


class Loader(yaml.SafeLoader):
    """Reads ``1e3`` as a number, as ROS does; YAML 1.1 wants ``1.0e+3``."""


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def load_yaml(path: Path) -> Any:
    """Return the content of a file.

    Raises
    ------
    ParameterError
        When it cannot be read, is not text in UTF-8, is not YAML, or exceeds a limit.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ParameterError(f"{path}: larger than {MOST_BYTES} bytes")
        text = data.decode()
        check_limits(text, str(path))
        return yaml.load(text, Loader=Loader)
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path}: not text in UTF-8: {error.reason} at byte {error.start}") from None
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        place = f"line {at.line + 1}, column {at.column + 1}: " if at else ""
        raise ParameterError(f"{path}: {place}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{path}: {error}") from error


def check_limits(text: str, where: str) -> None:
    """Refuse YAML that is too large or too deep.

    Parameters
    ----------
    text : str
        The text.
    where : str
        Its file, for the message.

    Raises
    ------
    ParameterError
        When it exceeds :data:`MOST_VALUES` or :data:`DEEPEST`, or an alias is within its own anchor.
    """
    sizes: dict[str, int] = {}
    begun: list[tuple[str | None, int]] = []
    n = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise ParameterError(f"{where}: the alias *{event.anchor} stands for nothing before it")
            n += sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            n += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, n))
            n += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = begun.pop()
            if anchor:
                sizes[anchor] = n - before
        if len(begun) > DEEPEST:
            raise ParameterError(f"{where}: nested deeper than {DEEPEST} levels")
        if n > MOST_VALUES:
            raise ParameterError(f"{where}: more than {MOST_VALUES} values, aliases included")
