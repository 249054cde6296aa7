"""Rows in Parquet: a folder with a file for each batch.

A batch is written beside its place and then moved there, so whatever ends a sweep loses one batch of rows at most.
pandas and Polars read the folder as one table, DuckDB ``'FILE.parquet/*.parquet'``. Each file's metadata has the sweep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError, MissingExtra
from arm_control.sweeps.single_run import VERSIONS

if TYPE_CHECKING:
    from arm_control.sweeps.sweep import Sweep

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    raise MissingExtra("pyarrow", "sweep") from error

NOTED = b"arm_control.sweep"
"""Key of the sweep in the metadata."""
TYPES = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.string(), "json": pa.string()}


def begin_rows(folder: Path, sweep: Sweep, *, resume: bool) -> npt.NDArray[np.bool_]:
    """Make the folder, or find it; return of each run whether it has a row there.

    An InputError when there are rows and they are not to be resumed, or are those of another sweep.
    """
    parts = _parts(folder)
    if parts and not resume:
        raise InputError(f"{folder} has rows already: --resume runs what is missing, or choose another name")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, and a folder is needed: choose another name")
    for part in parts:
        if parquet.read_schema(part).metadata.get(NOTED, b"") != sweep.identity.encode():
            raise InputError(
                f"{folder} has rows of another sweep, or of this one before it changed: choose another name"
            )
    folder.mkdir(parents=True, exist_ok=True)
    has_row = np.zeros(len(sweep.points), dtype=bool)
    for part in parts:
        has_row[parquet.read_table(part, columns=["run"])["run"].to_numpy()] = True
    return has_row


def write_rows(folder: Path, sweep: Sweep, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a batch of rows, ordered by number, as a file of its own."""
    ordered = sorted(rows, key=lambda row: row["run"])
    as_json = {name for name, kind in sweep.kinds.items() if kind == "json"}
    content = [{name: json.dumps(x) if name in as_json else x for name, x in row.items()} for row in ordered]
    name = f"rows-{ordered[0]['run']:08}-{len(_parts(folder)):06}.parquet"
    hidden = folder / f".{name}.tmp"
    parquet.write_table(pa.Table.from_pylist(content, schema=_schema(sweep)), hidden)
    hidden.rename(folder / name)


def read_rows(folder: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the sweep, as its JSON says, and the columns by name, ordered by the runs' numbers.

    An InputError when there are no rows of a sweep.
    """
    parts = _parts(folder) or [folder] * folder.is_file()
    try:
        table = pa.concat_tables([parquet.read_table(part) for part in parts]).sort_by("run")
        sweep = json.loads(table.schema.metadata[NOTED])
    except (pa.ArrowInvalid, KeyError, TypeError, OSError):
        raise InputError(f"{folder} has no rows of a sweep") from None
    columns = table.to_pydict()
    for name, kind in sweep["kinds"].items():
        if kind == "json":
            columns[name] = [json.loads(text) for text in columns[name]]
    return sweep, columns


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("rows-*.parquet"))


def _schema(sweep: Sweep) -> pa.Schema:
    axes = [(name, TYPES[kind]) for name, kind in sweep.kinds.items()]
    figures = [(name, pa.float64()) for name in sweep.plan.figures]
    texts = [(name, pa.string()) for name in (*VERSIONS, "error", "worker")]
    own = [("duration", pa.float64()), ("time", pa.timestamp("us", "UTC"))]
    columns = [("run", pa.int64()), *axes, *figures, ("seed", pa.int64()), *texts, *own]
    return pa.schema(columns, metadata={NOTED: sweep.identity})
