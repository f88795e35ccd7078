"""How good a restored transcript is: the table of metrics. Imports nothing of the models.

In: a reference and a hypothesis. Out: counts, which add up; rates are read last, and an undefined one is n/a.
A new metric is one file and one row of `METRICS`. WiSeBE is not among them: it looks at several references.
"""

from __future__ import annotations

from interpunct.errors import UnknownNameError
from interpunct.metrics.metric import Metric, MetricOptions
from interpunct.metrics.pair import Pair, pair
from interpunct.tables import resolve

__all__ = ["METRICS", "WISEBE", "Metric", "MetricOptions", "Pair", "named", "pair"]

METRICS: dict[str, str] = {
    "prf": "interpunct.metrics.prf:PRF",
    "ser": "interpunct.metrics.slots:SER",
    "su_er": "interpunct.metrics.su_error:SU_ER",
    "per": "interpunct.metrics.slots:PER",
    "case": "interpunct.metrics.case:CASE",
    "segmentation": "interpunct.metrics.segmentation:SEGMENTATION",
}
WISEBE = "wisebe"
"""The name of the metric for several references; see `metrics.wisebe`."""


def named(name: str) -> Metric:
    """Return the metric of a name."""
    if name not in METRICS:
        raise UnknownNameError("metric", name, [*METRICS, WISEBE])
    found: Metric = resolve(METRICS, "metric", name)
    return found
