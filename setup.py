"""Installs the package: with pip, or as an ament_python package with colcon."""

import re
from pathlib import Path

from setuptools import find_packages, setup

NAME = "arm_control"
HERE = Path(__file__).resolve().parent  # of the file that a link of colcon leads to
VERSION = re.search(r'__version__ = "(.+)"', (HERE / NAME / "__init__.py").read_text(encoding="utf-8"))[1]
NODES = sorted({path.stem for folder in ("nodes", "controllers") for path in (HERE / NAME / folder).glob("[a-z]*.py")})
ROS = [
    "rclpy",
    "rmw-fastrtps-cpp",
    "rmw-implementation",
    "ament-index-python",
    "std-msgs",
    "sensor-msgs",
    "geometry-msgs",
    "trajectory-msgs",
    "visualization-msgs",
    "diagnostic-msgs",
    "std-srvs",
    "rosgraph-msgs",
    "rcl-interfaces",
    "builtin-interfaces",
]


def share(*folders: str) -> list[tuple[str, list[str]]]:
    """Every file below these folders, for the package's share folder."""
    found = [path for folder in folders for path in sorted((HERE / folder).rglob("*")) if path.is_file()]
    files = [path for path in found if path.parent.name != "__pycache__"]
    places = {path.parent.relative_to(HERE) for path in files}
    return [
        (f"share/{NAME}/{place}", [str(path.relative_to(HERE)) for path in files if path.parent == HERE / place])
        for place in sorted(places)
    ]


def executables() -> list[str]:
    """One file for each node, named after it, for the package's folder of executables."""
    folder, text = HERE / "build" / "executables", (HERE / "scripts" / "node").read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    for node in NODES:
        (folder / node).write_bytes(text)
        (folder / node).chmod(0o755)
    return [f"build/executables/{node}" for node in NODES]


def script_with_a_dash() -> str:
    """The command under the name of the distribution, as `pipx run` and `uvx` look for it."""
    path = HERE / "build" / "executables" / "arm-control"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((HERE / "scripts" / NAME).read_bytes())
    return str(path.relative_to(HERE))


PICTURES = ["rich>=12", "matplotlib>=3.7", "pillow>=9.1"]
EXTRAS = {
    "ros": [f"ros-{package}" for package in ROS],
    "mujoco": ["mujoco>=3.2"],
    "pinocchio": ["pin>=2.7,!=3.0"],
    "symbolic": ["sympy>=1.11", "cloudpickle>=2.0"],
    "xacro": ["xacro>=2"],
    "nengo": ["nengo>=4.1"],
    "ompl": ["ompl>=2.0.1"],
    "lerobot": ["lerobot>=0.6; python_version >= '3.12'"],
    "bags": ["rosbags>=0.11"],
    "coppeliasim": ["coppeliasim-zmqremoteapi-client>=2.0.4", "pyzmq>=24", "cbor2>=6"],
    "sweep": ["dask>=2024.8", "distributed>=2024.8", "pyarrow>=15", "fsspec>=2023.10", "scipy>=1.15"],
    "pictures": PICTURES,
    "viewer": ["viser>=1.1.1,<1.2", "msgspec>=0.18", "websockets>=13.1"],
    "docs": ["sphinx>=7", "myst-parser>=2", "furo"],
    "test": [
        "pytest>=8.3,<8.4",
        "pytest-xdist>=3.6",
        "hypothesis>=6.100",
        "scipy>=1.10",
        "example-robot-data",
        "playwright>=1.40",
        "coal>=3",
        "lupa>=2.1",
        "ruff>=0.6",
        "mypy>=1.11",
        "types-PyYAML",
    ],
}
EXTRAS["demo"] = [*PICTURES, *(p for extra in ("ros", "mujoco", "viewer", "xacro") for p in EXTRAS[extra])]

setup(
    name="arm-control",
    version=VERSION,
    description="Force control of robot arms: a URDF goes in, safe and fast joint torque comes out",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    maintainer="arm_control maintainers",
    maintainer_email="maintainers@arm-control.example",
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"lib/{NAME}", executables()),  # where `ros2 run` and launch files look
        *share("config", "coppeliasim", "export", "launch", "rviz", "urdf"),
    ],
    install_requires=["setuptools", "numpy>=1.24", "PyYAML>=5.4", "urdf-parser-py>=0.0.4", "llvmlite>=0.45"],
    extras_require=EXTRAS,
    scripts=[f"scripts/{NAME}", script_with_a_dash()],
    zip_safe=False,
)
