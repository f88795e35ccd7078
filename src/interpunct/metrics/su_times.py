"""NIST SU error on RTTM files by time: for recognised speech whose words nobody has aligned.

In: two RTTM files, or folders of them, with SU lines. Out: an `Evaluation` of su_er alone. Ends of the same file
and channel are matched one to one, in order, within a tolerance. Intervals are drawn by (file, channel).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np

from interpunct.errors import InputError
from interpunct.formats import Source
from interpunct.formats.rttm import RTTM, read_units
from interpunct.metrics.evaluate import Evaluation, Row
from interpunct.metrics.prf import OVERALL
from interpunct.metrics.significance import DRAWS, Bootstrap, Units
from interpunct.metrics.su_error import SU_ER, TOLERANCE_S, Boundaries, count_times

Name = tuple[str, str]


def evaluate_times(
    reference: str | Path,
    hypothesis: str | Path,
    *,
    tolerance_s: float = TOLERANCE_S,
    draws: int = DRAWS,
    encoding: str | None = None,
) -> Evaluation:
    """Score the SU lines of RTTM files by their ends' times."""
    if not tolerance_s >= 0:
        raise InputError(f"a tolerance of {tolerance_s} seconds is none; use 0 or more")
    wanted, given = _ends(Path(reference), encoding), _ends(Path(hypothesis), encoding)
    if len(wanted) == len(given) == 1:  # one recording each: their names do not matter
        given = dict(zip(wanted, given.values(), strict=True))
    if not wanted.keys() & given.keys():
        raise InputError("no file and channel is in both; SU lines are paired by those two columns")
    names = sorted(wanted.keys() | given.keys())
    found = [count_times(wanted.get(name, []), given.get(name, []), tolerance_s=tolerance_s) for name in names]
    fields = zip(*(tuple(counts.numbers().values()) for counts in found), strict=True)
    by_document = Boundaries(*(np.array(field, dtype=np.int64) for field in fields))
    units = Units("file and channel", (np.arange(len(names)),))
    totals = by_document.total()
    intervals = Bootstrap(units, draws=draws).intervals(by_document)
    value = SU_ER.value({OVERALL: totals})
    drawn = f"ci:bootstrap-{draws} by {units.kind} ({len(names)})"
    signature = f"metrics:su_er|by:time|tolerance:{tolerance_s}|{drawn}|version:{version('interpunct')}"
    return Evaluation(signature, {"su_er": value}, (Row("su_er", OVERALL, intervals, totals.numbers()),), ())


def _ends(path: Path, encoding: str | None) -> dict[Name, list[float]]:
    """Read the ends of the SU lines of a file or of all files of a folder."""
    files = sorted(path.glob("*.rttm")) if path.is_dir() else [path]
    ends: dict[Name, list[float]] = {}
    for file in files:
        source = Source.open(file, encoding=encoding)
        if not RTTM.sniff(source):
            raise InputError("not RTTM; give files with SU lines, or leave --by-time out", path=source.name)
        try:
            for unit in read_units(source):
                ends.setdefault((unit.file, unit.channel), []).append(unit.end)
        except InputError as error:
            raise error.at(path=source.name) from None
    if not ends:
        raise InputError("no SU lines in it; give RTTM files with sentence units", path=str(path))
    return ends
