"""Where meshes and packages are searched: above a URDF, up to the root of its repository, and nowhere outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from arm_control.model import folders_near, mesh_path
from arm_control.model.urdf.packages import LEVELS


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """A URDF eight folders below the root of a repository, with meshes beside that root's ``robots``."""
    folder = tmp_path / "repository" / "robots" / "a" / "b" / "c" / "d" / "e" / "f" / "urdf"
    folder.mkdir(parents=True)
    for place in ("repository/meshes", "repository/other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.stl").write_text("solid")
    (tmp_path / "repository" / "other" / "package.xml").write_text("<package><name>arm_shapes</name></package>")
    (tmp_path / "x.stl").write_text("solid")
    return folder / "arm.urdf"


NAMES = ("meshes/x.stl", "package://meshes/x.stl", "package://arm_shapes/x.stl", "../" * 8 + "meshes/x.stl")


@pytest.mark.parametrize("name", NAMES)
def test_meshes_are_found_up_to_the_root_of_the_repository(name: str, urdf: Path):
    repository = urdf.parents[8]
    assert mesh_path(name, folders_near(urdf)) is None, "no repository: six folders"
    (repository / ".git").mkdir()
    found = mesh_path(name, folders_near(urdf))
    assert found is not None
    assert found.resolve().parent.parent == repository.resolve()


@pytest.mark.parametrize("name", ["x.stl", "../" * 9 + "x.stl", "package://repository/../x.stl"])
def test_a_file_outside_the_repository_is_not_found(name: str, urdf: Path):
    (urdf.parents[8] / ".git").mkdir()
    assert mesh_path(name, folders_near(urdf)) is None
    assert mesh_path("meshes/../other/x.stl", folders_near(urdf)) is not None


def test_the_folders_above_a_file_end_below_the_root_of_all_files(urdf: Path):
    assert len(folders_near(urdf)) == LEVELS
    assert folders_near(urdf)[0] == urdf.parent.resolve()
    assert folders_near(Path("/arm.urdf")) == []
