"""The bar: commercial recognisers' own marks and capitals on Earnings-21, scored on their own words.

    python benchmarks/commercial.py [--model NAME_OR_DIR] [--times] [--page docs/commercial.md]

Each recogniser's output is aligned to the reference; marks count between two words that were recognised, case
on words that were. Beside each stands the model on the same recogniser's words, its own marks and capitals
taken away first; it decides by the words alone, or with `--times` also by when they are said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import interpunct
from interpunct import corpora
from interpunct.decode import DecodeOptions
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.transcript import Transcript
from report import arguments, machine, markdown, report

RECOGNISERS = ("amazon", "google", "speechmatics", "microsoft")
BARE = ("rev_kaldi", "rev_espnet", "kaldi_librispeech")


def main() -> None:
    """Score every recogniser, and the model on its words."""
    parser = arguments(__doc__)
    parser.add_argument("--page", type=Path, help="write the table as a Markdown page")
    parser.add_argument("--times", action="store_true", help="let a model with a prosody branch use the words' times")
    given = parser.parse_args()
    options = DecodeOptions(prosody=given.times)
    restorer = interpunct.load(given.model)
    reference = _calls("ref")
    rows: list[dict[str, Any]] = []
    signature = ""
    for track in (*RECOGNISERS, *BARE):
        words = _calls(track)
        if track in RECOGNISERS:
            found = evaluate(reference, words, align=True)
            rows.append(_row(track, "its own", found))
        restored = dict(zip(words, restorer.restore_all(words.values(), options), strict=True))
        found = evaluate(reference, restored, align=True, baseline=words if track in RECOGNISERS else None)
        rows.append(_row(track, restorer.model.name, found))
        signature = found.signature
    report("commercial", rows, given.json)
    if given.page:
        given.page.write_text(_page(rows, signature), encoding="utf-8")


def _calls(track: str) -> dict[str, Transcript]:
    return {call.source: call for call in corpora.read("earnings21", "test", track=track)}


def _row(track: str, marks_by: str, found: Evaluation) -> dict[str, Any]:
    row: dict[str, Any] = {"words of": track, "marks by": marks_by, "WER": 100 * found.metrics["wer"]}
    wanted = [
        ("prf", "comma", "f1"), ("prf", "period", "f1"), ("prf", "question", "f1"), ("prf", "overall", "f1"),
        ("ser", "overall", "ser"), ("su_er", "overall", "error"), ("case", "overall", "f1"),
    ]  # fmt: skip
    for metric, label, rate in wanted:
        (interval,) = [r.rates[rate] for r in found.rows if (r.metric, r.label) == (metric, label)]
        name = f"{label} F1" if metric == "prf" else {"ser": "SER", "su_er": "SU-ER", "case": "case F1"}[metric]
        row[name] = _shown(interval.value, interval.low, interval.high)
    everywhere = found.metrics["unrestricted"]["prf"]["overall"]["f1"]
    row["overall F1, every place"] = "n/a" if everywhere is None else f"{100 * everywhere:.1f}"
    compared = found.comparisons.get("prf")
    row["F1 against its own"] = (
        f"{100 * compared.delta:+.1f} (p {compared.p:.3f})" if compared and compared.delta is not None else ""
    )
    return row


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return "n/a"
    return f"{100 * value:.1f} ±{50 * (high - low):.1f}"


def _page(rows: list[dict[str, Any]], signature: str) -> str:
    shown = [row | {"WER": f"{row['WER']:.1f}"} for row in rows]
    made = machine()
    return f"""# The bar: commercial recognisers on Earnings-21

37 earnings calls, 300k words. "its own" are the marks and capitals that the recogniser wrote itself; below it stand
our model's on the same words. Percent; ± is half of the 95 % interval (bootstrap by call). Marks are scored between
two words that were recognised, case on words that were (the protocol of Pahuja et al. 2017); the column "every place"
drops that restriction. Lower is better for SER and SU-ER. Microsoft's output in this collection is hardly punctuated:
a weak bar. The last three recognisers write no marks at all.

{markdown(shown)}

Signature: `{signature}`

Made by `python benchmarks/commercial.py --page docs/commercial.md` ({made["date"][:10]}, commit {made["commit"]}).
"""


if __name__ == "__main__":
    main()
