"""Finding pages by words: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
over words and their stems, titles counting more than texts."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from dataclasses import dataclass

from .pages import Page, all_pages

K1, B = 1.2, 0.75  # saturation of repeated words, and how much long pages are held back
TITLE = 4  # a word of the title or id counts as so many of the text
KINDS = {"name": 1.3, "error": 1.2, "section": 1.0, "document": 0.8, "example": 0.6, "constant": 0.6}

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|\d+")
_COMMON = frozenset(
    "a an and are as at be by can do for from how i in is it of on or that the this to what with".split()
)


@dataclass(frozen=True)
class Hit:
    page: Page
    score: float
    excerpt: str


def words(text: str) -> list[str]:
    """The stems that a text is found by; "reduce_sum" is also "reduce" and "sum"."""
    found = []
    for word in _WORD.findall(text):
        parts = [word, *word.split("_")] if "_" in word.strip("_") else [word]
        found += [_stem(part.lower()) for part in parts if part and part.lower() not in _COMMON]
    return found


def _stem(word: str) -> str:
    for suffix in ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "es", "ed", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


@functools.cache
def _index() -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """({word: {page: how often}}, {page: length in words})."""
    places: dict[str, dict[str, int]] = {}
    lengths = {}
    for page in all_pages().values():
        counted = Counter(words(page.text if page.kind != "constant" else page.title))
        for word in set(words(f"{page.id} {page.title}")):
            counted[word] += TITLE
        for word, often in counted.items():
            places.setdefault(word, {})[page.id] = often
        lengths[page.id] = counted.total()
    return places, lengths


def search(query: str, limit: int = 8) -> list[Hit]:
    """The pages that fit the query's words best, best first; none if no word is known."""
    places, lengths = _index()
    pages = all_pages()
    mean = sum(lengths.values()) / len(lengths)
    wanted = set(words(query))
    scores: dict[str, float] = {}
    for word in sorted(wanted & places.keys()):
        found = places[word]
        rarity = math.log(1 + (len(lengths) - len(found) + 0.5) / (len(found) + 0.5))
        for name, often in found.items():
            weight = often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[name] / mean))
            scores[name] = scores.get(name, 0.0) + rarity * weight * KINDS[pages[name].kind]
    best = _without_wholes(sorted(scores, key=lambda name: (-scores[name], name)))[:limit]
    return [Hit(pages[name], scores[name], _excerpt(pages[name], wanted)) for name in best]


def _without_wholes(names: list[str]) -> list[str]:
    """Leaves out a document where one of its sections stands higher."""
    seen, kept = set(), []
    for name in names:
        whole = name.partition("#")[0]
        if name == whole and whole in seen:
            continue
        seen.add(whole)
        kept.append(name)
    return kept


def _excerpt(page: Page, wanted: set) -> str:
    """The paragraph that has most of the words."""
    paragraphs = [p.strip() for p in page.text.split("\n\n")[1:] if p.strip() and not p.startswith("```")]
    if not paragraphs:
        return ""
    best = max(paragraphs, key=lambda p: len(wanted & set(words(p))))
    flat = " ".join(best.split())
    return flat if len(flat) <= 300 else flat[:297] + "..."
