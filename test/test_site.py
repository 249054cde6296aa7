"""The documentation as a site: it is whole, and it loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))
try:
    import make_site
except ImportError:
    make_site = None
pytestmark = pytest.mark.skipif(make_site is None, reason="the extra 'docs' is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, make_site.__file__, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_every_page_is_in_the_contents():
    listed = [name for names in make_site.CONTENTS.values() for name in names]
    pages = [path.stem for path in (ROOT / "docs").glob("*.md")]
    outside = [Path(place).stem for place in make_site.OUTSIDE.values()]
    assert sorted([*listed, "index"]) == sorted([*pages, *outside])


def test_the_readme_leads_to_the_arm_that_moves_and_to_the_repository():
    readme = (ROOT / "README.md").read_text()
    second = readme.splitlines()[1]
    robot = next(iter(make_site.MOVING))
    assert second == f"[See it move]({make_site.ADDRESS}/moving/{robot}.html)"
    assert f"\ngit clone {make_site.REPOSITORY} && cd arm_control\n" in readme
    assert make_site._led(second, "README.md")[0] == f'<a href="moving/{robot}.html">See it move</a>'


@pytest.mark.campaign
def test_pages_lead_to_arms_that_move(site: Path):
    for page in ("index", "osc", "gate", "avoidance"):
        (target,) = set(re.findall(r'href="(moving/[^"#]*)', (site / f"{page}.html").read_text()))
        assert (site / target).stat().st_size < 3_000_000


@pytest.mark.campaign
def test_the_law_s_source_is_a_page(site: Path):
    page = (site / "source" / "arm_control" / "controllers" / "osc.py.html").read_text()
    assert "OscParameters" in page
    assert 'href="source/arm_control/controllers/osc.py.html"' in (site / "index.html").read_text()


@pytest.mark.campaign
def test_nothing_is_loaded_from_elsewhere(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        for tag in re.findall(r"<(?:script|img|link|iframe)[^>]*>", page.read_text()):
            address = re.search(r'(?:src|href)="([^"]*)"', tag)
            assert address is None or not address[1].startswith(("http", "//")), f"{page.name}: {tag}"


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from sphinx.cmd.build import build_main

    for name in ("conf.py", "wide.css"):
        (tmp_path / name).write_text((ROOT / "docs" / "site" / name).read_text())
    (tmp_path / "static").mkdir()
    (tmp_path / "index.md").write_text("# A page\n\n[gone](gone.md)\n")
    assert build_main(["-q", "-W", "-b", "html", str(tmp_path), str(tmp_path / "out")]) != 0
    assert "gone.md" in capsys.readouterr().err
