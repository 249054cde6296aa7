"""Folders of ROS packages and meshes: one search for models, checks, pages and plans.

A file lies near a URDF in one of the folders above it, up to the root of its repository. A package is a folder of that
name, or one whose ``package.xml`` has it. Names lead to no place outside the folders that are searched.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from arm_control.core import share_path

PACKAGE_PATH = "ROS_PACKAGE_PATH"
"""Environment variable with folders of packages; ``--package-path`` adds to it."""
LEVELS = 6
"""Folders above a file that are searched where it is in no repository."""


def find_package(package: str, near: Path | None = None, roots: Sequence[Path] = ()) -> Path | None:
    """Return the folder of a package; None when it is not found.

    Parameters
    ----------
    near : Path, optional
        A file; the folders above it, and those beside them, may be the package.
    roots : sequence of Path
        Folders that are packages, or contain some; before all others.
    """
    if not package or "/" in package or package in (".", ".."):
        return None
    folders = [*roots, *(folders_near(near) if near is not None else ()), *package_folders()]
    return next((found for folder in folders if (found := _package_in(folder, package))), None)


def add_package_path(folders: Sequence[str]) -> None:
    """Make folders with packages known to this process, and to those that it starts."""
    known = os.environ.get(PACKAGE_PATH, "")
    paths = [str(Path(folder).resolve()) for folder in folders]
    os.environ[PACKAGE_PATH] = os.pathsep.join(filter(None, [*paths, known]))


def folders_near(file: Path) -> list[Path]:
    """Return the folder of a URDF file and those above it that may have its meshes; not the root of all files.

    The last one is the root of its repository (a folder with ``.git``); without one there are six.
    """
    folders = [folder for folder in file.resolve().parents if folder != Path(folder.anchor)]
    root = next((k for k, folder in enumerate(folders) if (folder / ".git").exists()), LEVELS - 1)
    return folders[: root + 1]


def package_folders() -> list[Path]:
    """Return the folders with packages that the environment names."""
    variables = (PACKAGE_PATH, ""), ("AMENT_PREFIX_PATH", "share")
    paths = [(os.environ.get(variable, "").split(os.pathsep), below) for variable, below in variables]
    folders = [Path(folder, below) for names, below in paths for folder in names if folder]
    folders.append(share_path("urdf").parent)  # this package, whose source tree may have any name
    if (coal := find_spec("coal")) is not None and coal.origin is not None:  # example-robot-data is installed beside it
        folders.append(Path(coal.origin).parents[4] / "share")
    return folders


def mesh_path(name: str, folders: Sequence[Path] = ()) -> Path | None:
    """Return the file of a mesh; None where there is no such file below the folders and packages.

    Parameters
    ----------
    name : str
        Relative or absolute, or beginning with ``package://`` or ``file://``.
    folders : sequence of Path
        Where relative names start, and where packages are searched before the places that the environment says.
    """
    name = name.removeprefix("file://")
    package, _, rest = name.removeprefix("package://").partition("/")
    if not name.startswith("package://"):
        places = (folder / os.path.normpath(name) for folder in folders)
        return next((path for path in places if _is_file_below(path, folders)), None)
    found = find_package(package, roots=folders)
    return found / rest if found is not None and _is_file_below(found / rest, [found]) else None


def _is_file_below(path: Path, folders: Sequence[Path]) -> bool:
    """Whether a path leads to a file, and ``..`` in it to no place outside the folders; links may."""
    try:
        is_plain = ".." not in path.parts and any(path.is_relative_to(folder) for folder in folders)
        is_inside = is_plain or any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
        return is_inside and path.is_file()
    except (OSError, ValueError):  # the name is too long, or not allowed for a file
        return False


def _package_in(folder: Path, package: str) -> Path | None:
    """Return a folder itself or one in it, by its name or by the name in its ``package.xml``."""
    try:
        if folder.name == package and folder.is_dir():
            return folder
        if (folder / package).is_dir():
            return folder / package
        manifests = [folder / "package.xml", *folder.glob("*/package.xml")]
        return next((path.parent for path in manifests if _name_in(path) == package), None)
    except OSError:  # the name is too long, or the folder cannot be read
        return None


def _name_in(manifest: Path) -> str:
    try:
        return (ElementTree.parse(manifest).findtext("name") or "").strip()
    except (OSError, ElementTree.ParseError):
        return ""
