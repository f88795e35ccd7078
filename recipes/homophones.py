"""Homophones: do vectors know how words sound?

In: vectors, how often each word was said, and a pronouncing dictionary. Out: for pairs of words that sound the same and
are spelt apart ("two" and "too"), how often their cosine is above that of other pairs (AUC: 0.5 is chance), with a 95 %
interval. Each pair has 20 other pairs of its own, of words about as frequent: random ones, or ones that are a letter
apart and sound different. Cosines are of vectors less their mean. Pairs that share words are drawn together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from interpunct.features.embeddings import Embeddings
from interpunct.metrics.significance import DRAWS, SEED

Pair = tuple[str, str]
CONTROLS = 20
_NEAR_RANKS = 25  # how far down or up the list of words by frequency one "about as frequent" is
_SHORTEST = 3  # letters: of two-letter words nearly all are a letter apart from another


@dataclass(frozen=True)
class Against:
    """AUC of homophones against other pairs, its interval, and the mean cosines of both."""

    pairs: int
    sets: int
    auc: float
    low: float
    high: float
    cosine: float
    cosine_others: float


def pronunciations() -> dict[str, str]:
    """Return the first pronunciation of each word of pocketsphinx's dictionary."""
    import pocketsphinx

    path = Path(pocketsphinx.get_model_path("en-us/cmudict-en-us.dict"))
    rows = (line.split(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines())
    return {word: sound.strip() for word, sound in rows if not word.endswith(")")}


def homophones(words: Iterable[str], sounds: Mapping[str, str]) -> list[list[str]]:
    """Return sets of words that sound the same; of "members" and "member's", which are one word's forms, the first.

    >>> homophones(["too", "two", "to", "toos", "too's"], dict.fromkeys(["two", "too"], "T UW") | {"to": "T AH"})
    [['too', 'two']]
    """
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for word in words:
        if word in sounds:
            found[sounds[word]].setdefault(re.sub(r"[^a-z]", "", word), word)
    return [list(same.values()) for same in found.values() if len(same) > 1]


def near_in_spelling(words: Sequence[str], sounds: Mapping[str, str]) -> list[Pair]:
    """Return pairs that a letter changed, added or left out parts, and that sound different."""
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for word in words:
        if len(word) >= _SHORTEST and word.isalpha() and word in sounds:
            for at in range(len(word)):
                keys[f"{word[:at]}_{word[at + 1 :]}"].add(word)
            for at in range(len(word) + 1):
                keys[f"{word[:at]}_{word[at:]}"].add(word)
    pairs = {pair for group in keys.values() for pair in combinations(sorted(group), 2)}
    return sorted(pair for pair in pairs if sounds[pair[0]] != sounds[pair[1]])


def cosines_of(vectors: Embeddings) -> Callable[[Sequence[Pair]], npt.NDArray[np.float64]]:
    """Return what gives the cosines of pairs of words, of vectors less their mean."""
    unit = (vectors.vectors - vectors.vectors.mean(axis=0)).astype(np.float64)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    row = {word: number for number, word in enumerate(vectors.words)}

    def cosines(pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        left, right = ([row[pair[side]] for pair in pairs] for side in (0, 1))
        return np.asarray((unit[left] * unit[right]).sum(axis=1))

    return cosines


def checked(
    vectors: Embeddings, counts: Mapping[str, int], sounds: Mapping[str, str], *, seed: int = SEED
) -> dict[str, Against]:
    """Return what homophones are like against random pairs and against pairs near in spelling."""
    random = np.random.default_rng(seed)
    known = [word for word in vectors.words if word in counts]
    # Of equally frequent words any may follow any: in the alphabet's order they would be alike.
    words = sorted((known[at] for at in random.permutation(len(known))), key=lambda word: -counts[word])
    sets = homophones(words, sounds)
    other = {
        "random pairs": [
            [_random_pairs(pair, words, sounds, random) for pair in combinations(same, 2)] for same in sets
        ],
        "pairs near in spelling": _like_pairs(sets, near_in_spelling(words, sounds), counts),
    }
    cosines = cosines_of(vectors)
    ours = [cosines(list(combinations(same, 2))) for same in sets]
    return {
        name: _against(ours, [np.stack([cosines(each) for each in of_set]) for of_set in matched])
        for name, matched in other.items()
    }


def _against(ours: Sequence[npt.NDArray[np.float64]], others: Sequence[npt.NDArray[np.float64]]) -> Against:
    """Compare each pair with its own controls; `ours` is (pairs,) a set, `others` (pairs, controls)."""
    above = [
        np.mean((mine[:, None] > theirs) + 0.5 * (mine[:, None] == theirs), axis=1)
        for mine, theirs in zip(ours, others, strict=True)
    ]
    sums, sizes = np.array([each.sum() for each in above]), np.array([len(each) for each in above])
    drawn = np.random.default_rng(SEED).integers(len(above), size=(DRAWS, len(above)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), (0.025, 0.975))
    return Against(
        pairs=int(sizes.sum()),
        sets=len(above),
        auc=float(sums.sum() / sizes.sum()),
        low=float(low),
        high=float(high),
        cosine=float(np.concatenate(ours).mean()),
        cosine_others=float(np.concatenate(others).mean()),
    )


def _random_pairs(
    pair: Pair, words: Sequence[str], sounds: Mapping[str, str], random: np.random.Generator
) -> list[Pair]:
    """Draw pairs whose words stand near those of a pair in the list by frequency, and do not sound the same."""
    places = [words.index(word) for word in pair]
    found: list[Pair] = []
    while len(found) < CONTROLS:
        near = [np.clip(place + random.integers(-_NEAR_RANKS, _NEAR_RANKS + 1), 0, len(words) - 1) for place in places]
        one, other = (words[int(place)] for place in near)
        if one != other and sounds.get(one, one) != sounds.get(other, other):
            found.append((one, other))
    return found


def _like_pairs(
    sets: Sequence[Sequence[str]], pool: Sequence[Pair], counts: Mapping[str, int]
) -> list[list[list[Pair]]]:
    """Return for each pair of each set those of a pool whose words are nearest in frequency, rarer with rarer."""

    def frequency(pair: Pair) -> npt.NDArray[np.float64]:
        return np.sort(np.log([counts[word] for word in pair]))

    places = np.stack([frequency(pair) for pair in pool])
    order = np.random.default_rng(SEED).permutation(len(pool))  # among equals, any

    def nearest(pair: Pair) -> list[Pair]:
        apart = np.abs(places[order] - frequency(pair)).sum(axis=1)
        return [pool[order[at]] for at in np.argsort(apart, kind="stable")[:CONTROLS]]

    return [[nearest(pair) for pair in combinations(same, 2)] for same in sets]
