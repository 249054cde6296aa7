"""A page of HTML without scripts: facts, and sections of text, a table, an image. All texts are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #2b2f36; max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #e3e6ea; }
table { border-collapse: collapse; font-size: 12px; display: block; overflow-x: auto; }
td, th { padding: .2rem .7rem; border-bottom: 1px solid #e3e6ea; text-align: left; }
td:not(:first-child) { font-variant-numeric: tabular-nums; }
img { max-width: 100%; } dt { float: left; clear: left; width: 9rem; color: #8a9099; } dd { margin-left: 9rem; }
""".strip()


class Section(NamedTuple):
    """A section of the page; the first row of the table is its head, the image a file beside the page."""

    title: str
    text: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    image: str = ""


def page(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section], verdict: str = "") -> str:
    """Return a page of HTML: a verdict, a list of its contents, facts, sections; all texts are escaped.

    Examples
    --------
    >>> text = page("<b>", [("a", "1 < 2")], [Section("One", "", (("x",), ("&",)))])
    >>> "<b>" in text, "1 &lt; 2" in text, "<td>&amp;</td>" in text
    (False, True, True)
    """
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}&nbsp;</dd>\n" for name, value in facts)
    parts = "\n".join(map(_section, sections))
    contents = " · ".join(f'<a href="#{_anchor(section)}">{escape(section.title)}</a>' for section in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"<p><strong>{escape(verdict)}</strong></p>\n<p>{contents}</p>\n<dl>\n{listed}</dl>\n{parts}\n"
        "</body>\n</html>\n"
    )


def _anchor(section: Section) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in section.title.lower())


def _section(section: Section) -> str:
    lines = [f'<h2 id="{_anchor(section)}">{escape(section.title)}</h2>']
    if section.text:
        lines.append(f"<p>{escape(section.text)}</p>")
    if section.image:
        lines.append(f'<p><img src="{escape(section.image)}" alt="{escape(section.title)}"></p>')
    if section.table:
        rows = [_row(row, "td") for row in section.table[1:]]
        lines.append("\n".join(["<table>", _row(section.table[0], "th"), *rows, "</table>"]))
    return "\n".join(lines)


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
