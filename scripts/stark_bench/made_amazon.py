"""Invented records of AMAZON's nodes, with the official keys and texts as long as the real ones.

On average 13.5 reviews a product with a heavy tail (12.98 million reviews of Sports and Outdoors in
the 2018 release of Amazon's reviews), of which a document prints 27 at most; some 610 words a
document (592.1 million tokens: STaRK, Table 1); questions on one product of twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = (957_192, 75_250, 1_400, 1_700)  # the first and the sum are exact, the rest approximate
SHARES = (2.8, 1.9, 1.7, 2.3, 0.6)  # millions of edges by relation (paper, Table 1)
REVIEWS = (1.1, 1.734)  # mean and deviation of the logarithm of their number
MOST = 5_000  # of one product
WORDS = {"title": 11, "description": 100, "feature": 20, "summary": 4, "text": 52}
WORDS |= {"question": 13, "answer": 24}
BLOCK = 2_000  # products that are drawn together
Ints = NDArray[np.int64]
Runs = Callable[[Ints], Iterator[str]]


def records(
    counts: Sequence[int], runs: Runs, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """``node_info`` of every node: products, brands, categories, colours.

    ``counts`` are the nodes of each type; ``runs`` draws a text for each length in words.
    """
    products, brands, *_ = counts
    for start in range(0, products, BLOCK):
        yield from _products(start, min(BLOCK, products - start), brands, runs, rng)
    for kind, count in zip(("brand", "category", "color"), counts[1:], strict=True):
        for i, name in enumerate(runs(np.full(count, 2))):
            yield {f"{kind}_name": f"{name} {i}"}


def _products(
    start: int, count: int, brands: int, runs: Runs, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    reviews = np.minimum(rng.lognormal(*REVIEWS, count), MOST).astype(np.int64)
    questions = np.where(rng.random(count) < 0.05, rng.integers(1, 9, count), 0)
    features = rng.integers(0, 9, count)
    shapes = zip(features.tolist(), reviews.tolist(), questions.tolist(), strict=True)
    wanted = [_shape(*shape) for shape in shapes]
    means = np.array([WORDS[key] for keys in wanted for key in keys], dtype=float)
    # exp(-0.32) is what a deviation of 0.8 adds to the mean of a logarithmic normal law
    lengths = np.ceil(means * rng.lognormal(-0.32, 0.8, len(means))).astype(np.int64)
    texts = runs(np.minimum(lengths, 2_000))
    for i, keys in enumerate(wanted, start=start):
        drawn: dict[str, list[str]] = {key: [] for key in WORDS}
        for key in keys:
            drawn[key].append(next(texts))
        yield _product(i, drawn, int(rng.integers(brands)))


def _shape(features: int, reviews: int, questions: int) -> list[str]:
    """Which texts one product has, in the order in which they are drawn."""
    fixed = ["title", "description", *["feature"] * features]
    return [*fixed, *["summary", "text"] * reviews, *["question", "answer"] * questions]


def _product(i: int, drawn: dict[str, list[str]], brand: int) -> dict[str, Any]:
    pairs = enumerate(zip(drawn["summary"], drawn["text"], strict=True))
    asked = zip(drawn["question"], drawn["answer"], strict=True)
    return {
        "review": [_review(i, n, summary, text) for n, (summary, text) in pairs],
        "qa": [_answered(question, answer) for question, answer in asked],
        "asin": f"B{i:09d}",
        "title": drawn["title"][0],
        "global_category": "Sports and Outdoors",
        "price": f"${i % 90}.99",
        "feature": drawn["feature"],
        "rank": f"{i % 900_000:,} in Sports & Outdoors",
        "details": {"product_dimensions": f"{i % 9 + 1} x 7 x 2 inches ; {i % 5 + 1} pounds"},
        "description": drawn["description"],
        "brand": f"brand {brand}",
        "category": [f"category {i % 1_400}", f"category {i % 37}"],
        "color": [f"color {i % 1_700}"],
    }


def _review(i: int, n: int, summary: str, text: str) -> dict[str, Any]:
    number = i * 31 + n
    return {
        "reviewerID": f"A{number:013d}",
        "summary": summary,
        "style": {"Size:": " Large", "Color:": " Blue"} if number % 5 < 2 else None,
        "reviewText": text,
        "vote": str(number % 40 + 2) if number % 8 == 0 else float("nan"),
        "overall": float(number % 5 + 1),
        "verified": number % 10 > 0,
        "reviewTime": f"{number % 12 + 1:02d} {number % 28 + 1}, {2006 + number % 12}",
    }


def _answered(question: str, answer: str) -> dict[str, Any]:
    return {
        "questionType": "open-ended",
        "answerType": "?",
        "question": question,
        "answer": answer,
        "answerTime": "May 1, 2014",
    }
