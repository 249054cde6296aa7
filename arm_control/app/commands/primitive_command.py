"""``arm_control primitive``: what a file of a movement primitive has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arm_control.primitives import Primitive

EXAMPLES = ("primitive list", "primitive show digit_3", "primitive show reach.yaml --out reach.png")


def add_options(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="those that come with the package", description=_list.__doc__)
    listed.set_defaults(action=_list)
    shown = actions.add_parser("show", help="figures and a picture of one", description=_show.__doc__)
    shown.add_argument("file", help="name below config/primitives, or a YAML file")
    shown.add_argument("-o", "--out", "--output", default="", metavar="PNG", help="picture; default: NAME.png")
    shown.set_defaults(action=_show)


def run(options: argparse.Namespace) -> int:
    """Show a movement primitive, or list those that come with the package."""
    return int(options.action(options))


def _list(_: argparse.Namespace) -> int:
    """List the primitives that come with the package."""
    from arm_control.primitives import PrimitiveFile, primitive_names

    for name in primitive_names():
        file = PrimitiveFile.load(name)
        print(f"{name:20} {_describe(file.primitive)}; {file.description}")
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print the figures of a primitive, and draw its motion as it was learned, its force and its functions."""
    from arm_control.primitives import PrimitiveFile
    from arm_control.report import draw_primitive, primitive_table, text_table

    primitive, description = PrimitiveFile.load(options.file)
    name = Path(options.file).stem
    print(f"{name}: {_describe(primitive)}; {description}\n")
    print(text_table(primitive_table(primitive)))
    picture = Path(options.out or f"{name}.png")
    draw_primitive(picture, primitive, name)
    print(f"\nwrote {picture}")
    return 0


def _describe(primitive: Primitive) -> str:
    what = ", ".join(primitive.names) or ("pose" if primitive.quat_xyzw is not None else "position")
    return f"{primitive.kind}, {what}, {primitive.duration:.3g} s, {primitive.n_basis} functions"
