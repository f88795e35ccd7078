"""Every word and every time of real recognisers, restored: all calls of Earnings-21, all seven recognisers.

    python benchmarks/identity.py [--calls N]

Counts words in and out, and compares letters, times, confidences and speakers place by place. Any difference
is an error, and the command ends with 1.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from typing import Any

import interpunct
from interpunct import corpora
from report import arguments, report


def main() -> None:
    """Restore every call and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, help="only the first so many calls")
    given = parser.parse_args()
    restorer = interpunct.load(given.model)
    rows: list[dict[str, Any]] = []
    for track in corpora.named("earnings21").tracks:
        calls = words = timed = lost = 0
        started = time.perf_counter()
        for call in islice(corpora.read("earnings21", "test", track=track), given.calls):
            result = restorer.restore(call)
            calls += 1
            words += len(call)
            timed += sum(word.start is not None for word in call.words)
            lost += abs(len(call) - len(result))
            for before, after in zip(call.words, result.words, strict=False):
                same_text = before.text.lower() == after.text.lower() and before.token == after.token
                same_times = (before.start, before.end, before.confidence, before.speaker) == (
                    after.start, after.end, after.confidence, after.speaker,
                )  # fmt: skip
                lost += not (same_text and same_times)
        seconds = time.perf_counter() - started
        rows.append({
            "recogniser": track, "calls": calls, "words": words, "timed": timed, "changed": lost,
            "words/s": round(words / seconds),
        })  # fmt: skip
        print(f"{track}: {lost} of {words} words changed", file=sys.stderr)
    report("identity", rows, given.json)
    sys.exit(any(row["changed"] for row in rows))


if __name__ == "__main__":
    main()
