"""Where results go: what could not be written at the end of a run is refused before it starts."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryFile

from arm_control.exceptions import InputError


def need_folder(folder: str | Path) -> None:
    """Make a folder if it is not there, and try whether a file can be written in it.

    Raises
    ------
    InputError
        When it cannot.
    """
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder} is a file, and a folder is needed: choose another name")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: nothing can be written there: {error.strerror}") from None


def need_record(file: str | Path) -> None:
    """Try whether a NumPy file can be written.

    Raises
    ------
    InputError
        When it cannot, or its name does not end in ``.npz``: NumPy would write to another one.
    """
    path = Path(file)
    if path.suffix != ".npz":
        raise InputError(f"{file}: the name of a record ends in .npz")
    if not path.parent.is_dir():
        raise InputError(f"{file}: there is no folder {path.parent}")
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InputError(f"{file} is there, and cannot be written: choose another name")
    need_folder(path.parent)
