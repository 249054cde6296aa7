"""Builds the documentation as a site: ``python docs/site/make_site.py FOLDER``; a warning is an error.

Pages are the Markdown files of ``docs/``, with README, contributing and changes. Their links to files of the
repository work where the repository is looked at; on the site each such file is a page of its own, with its text.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from arm_control.controllers import CONTROLLERS
from arm_control.export import exported_controller, write_page
from arm_control.simulation import Scenario

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Pages that are not below docs/, and where they are on the site."""
CONTENTS = {
    "I want to use my own arm": ("own_robot", "robots", "gallery"),
    "I want to move a real arm": ("real_robot", "ros2_control", "serve", "export"),
    "I want to know what fails, and how": ("gate", "faults", "troubleshooting", "limitations"),
    "I want to choose a controller": tuple(CONTROLLERS),
    "I want to shape motions and forces": ("trajectories", "primitive_law", "contact"),
    "I want to compensate what the model lacks": ("disturbance", "adaptation", "identification"),
    "I want to keep clear of obstacles, stay in a cell": ("constraints", "avoidance", "collision", "proximity"),
    "I want to plan": ("planning", "task_constrained", "execution", "plan_scenes"),
    "I want to simulate, see and record": (
        "scenarios",
        "sweeps",
        "rigid_body",
        "sensors",
        "viewer",
        "coppeliasim",
        "bags",
    ),
    "I want to use the library": ("api", "model", "model_speed", "inverse_kinematics", "compiled_calls", "native_loop"),
    "I want to look something up": ("topics", "parameters", "scenario_figures"),
    "I want to change the code": ("architecture", "contributing", "changes"),
}
"""Pages by the question that they answer; each controller has a page of its name."""
API = {
    "arm_control": (
        "RobotModel",
        "Terms",
        "Pose",
        "Reference",
        "OscParameters",
        "CompiledOsc",
        "OperationalSpaceController",
        "urdf_path",
    ),
    "arm_control.kinematics.inverse": ("InverseKinematics", "IkResult", "IkBatch"),
    "arm_control.motion.cartesian_motion": ("line", "arc", "blended", "follow_path"),
    "arm_control.motion.joint_trajectory": ("spline_path",),
    "arm_control.primitives.demonstration": ("Demonstration",),
    "arm_control.primitives.primitive": ("Primitive",),
    "arm_control.primitives.primitive_run": ("PrimitiveRun",),
    "arm_control.collision.validity": ("Validity",),
    "arm_control.collision.allowed_pairs": ("AllowedPairs", "find_allowed_pairs"),
    "arm_control.collision.arm_shape": ("ArmShape",),
    "arm_control.planning.time_scaling": ("TimeScaler", "PathLimits", "ScaledMotion"),
    "arm_control.gate.effort_gate": ("EffortGate", "GateParameters"),
    "arm_control.simulation.mujoco_simulator": ("MujocoSimulator",),
    "arm_control.simulation.rigid_body": ("RigidBodySimulator",),
    "arm_control.simulation.scenario": ("Scenario",),
    "arm_control.simulation.offline": ("Simulation",),
    "arm_control.exceptions": ("ArmControlError", "ModelError", "InputError", "ParameterError"),
}
"""Names whose docstrings the page ``api`` has on the site, by module."""
OWNER = "OWNER"
"""Who publishes this repository and its site: the one placeholder for an address."""
REPOSITORY = f"https://github.com/{OWNER}/arm_control"
ADDRESS = f"https://{OWNER}.github.io/arm_control"
"""Where the site is; the README's second line repeats it."""
MOVING = {"ur5": "ur5_osc", "panda": "panda_reach"}
"""Arms that move on the site, below ``moving/``, and scenarios with their gains."""
SHOWN_MOVING = {"docs/osc.md": "singularity", "docs/gate.md": "gate", "docs/avoidance.md": "avoidance"}
"""Pages that lead to a part of the first of these."""
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".urdf": "xml", ".lua": "lua"}


def build(folder: Path) -> int:
    """Build the site in a folder; return the exit status of Sphinx."""
    with tempfile.TemporaryDirectory() as place:
        stage(Path(place))
        status = sphinx_build(["-q", "-W", "--keep-going", "-b", "html", place, str(folder)])
    (folder / "moving").mkdir(exist_ok=True)
    for robot, scenario in MOVING.items():
        write_page(folder / "moving" / f"{robot}.html", exported_controller(Scenario.load(scenario)))
    return status


def stage(place: Path) -> None:
    """Put everything that Sphinx reads into a folder."""
    shutil.copy(Path(__file__).with_name("conf.py"), place)
    (place / "static").mkdir()
    shutil.copy(Path(__file__).with_name("wide.css"), place / "static")
    shutil.copytree(ROOT / "docs" / "pictures", place / "pictures")
    sources = [*OUTSIDE, *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    shown: set[str] = set()
    for source in sources:
        text, linked = _led((ROOT / source).read_text(encoding="utf-8"), source)
        shown |= linked - set(sources)
        more = {"README.md": _contents(), "docs/api.md": _docstrings()}.get(source, "")
        if source in SHOWN_MOVING:
            text = text.replace("\n", f"\n\n{_moving(SHOWN_MOVING[source], 'See it move in your browser')}\n", 1)
        (place / place_of(source)).write_text(text + more, encoding="utf-8")
    for source in shown:
        page = place / place_of(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(_listing(source), encoding="utf-8")


def place_of(source: str) -> str:
    """Where on the site a file of the repository is."""
    if source in OUTSIDE:
        return OUTSIDE[source]
    inside = source.startswith("docs/") and not source.startswith("docs/site/")
    return source.removeprefix("docs/") if inside else f"source/{source}.md"


def _led(text: str, source: str) -> tuple[str, set[str]]:
    """A page's text with its links to files leading to their pages, and the text files that it links to."""
    linked: set[str] = set()

    def led(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        if "://" in match[1] or not (ROOT / target).is_file():
            return match[0]
        if not target.startswith("docs/pictures/"):
            linked.add(target)
        return posixpath.relpath(place_of(target), posixpath.dirname(place_of(source)) or ".") + (match[2] or "")

    text = re.sub(rf"\[([^]]*)\]\({ADDRESS}/moving/\w+\.html\)", lambda link: _moving("", link[1]), text)
    return LINK.sub(led, text.replace("```math", "```latex")), linked  # without fetching MathJax from elsewhere


def _moving(part: str, words: str) -> str:
    """A link to a page that Sphinx does not know."""
    return f'<a href="moving/{next(iter(MOVING))}.html{part and "#" + part}">{words}</a>'


def _listing(source: str) -> str:
    language = LANGUAGES.get(Path(source).suffix, "text")
    text = (ROOT / source).read_text(encoding="utf-8")
    return f"---\norphan: true\n---\n# {source}\n\n````{language}\n{text}\n````\n"


def _docstrings() -> str:
    """Directives that put the docstrings of :data:`API` on a page."""
    blocks = []
    for module, names in API.items():
        for name in names:
            kind = "function" if name.islower() else "class"
            members = "" if kind == "function" else "\n   :members:"
            block = f"```{{eval-rst}}\n.. auto{kind}:: {module}.{name}{members}\n```"
            blocks.append(f"### `{name}`\n\n{block}")
    return "\n\n## Docstrings\n\n" + "\n\n".join(blocks) + "\n"


def _contents() -> str:
    trees = [f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(names) for title, names in CONTENTS.items()]
    return "".join(f"\n\n{tree}\n```\n" for tree in trees)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
