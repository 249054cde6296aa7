"""Folders of ROS packages: named by the user, above a file, or in a ROS installation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

PACKAGE_PATH = "ROS_PACKAGE_PATH"
"""Environment variable with folders of packages; ``--package-path`` adds to it."""
LEVELS = 6
"""Folders above a file that are searched."""
MESH_LEVELS = 4
"""Those of them that are searched for meshes."""


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
    folders = [*roots, *_folders_above(near), *_environment_folders()]
    return next((found for folder in folders if (found := _package_in(folder, package))), None)


def add_package_path(folders: Sequence[str]) -> None:
    """Make folders with packages known to this process, and to those that it starts."""
    known = os.environ.get(PACKAGE_PATH, "")
    paths = [str(Path(folder).resolve()) for folder in folders]
    os.environ[PACKAGE_PATH] = os.pathsep.join(filter(None, [*paths, known]))


def folders_near(file: Path) -> list[Path]:
    """Return the folder of a URDF file and those above it that may have its meshes; not the root of all files."""
    return [folder for folder in list(file.resolve().parents)[:MESH_LEVELS] if folder != Path(folder.anchor)]


def package_folders() -> list[Path]:
    """Return the folders with packages that the environment names."""
    return list(_environment_folders())


def _environment_folders() -> Iterator[Path]:
    for variable, below in ((PACKAGE_PATH, ""), ("AMENT_PREFIX_PATH", "share")):
        for folder in os.environ.get(variable, "").split(os.pathsep):
            if folder:
                yield Path(folder, below)


def _folders_above(file: Path | None) -> list[Path]:
    return [] if file is None else list(file.resolve().parents)[:LEVELS]


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
