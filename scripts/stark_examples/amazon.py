"""An invented graph of AMAZON's shape."""

from __future__ import annotations

import random
from typing import Any

from stark_examples.parts import NAN, Graph


def _review(text: Any, vote: Any, summary: Any = "good") -> dict[str, Any]:
    return {
        "reviewerID": "R1",
        "summary": summary,
        "style": None,
        "reviewText": text,
        "vote": vote,
        "overall": 4.0,
        "verified": True,
        "reviewTime": "01 1, 2018",
    }


def _reviews(count: int, votes: list[Any]) -> list[dict[str, Any]]:
    return [_review(f"text {i}", votes[i % len(votes)], f"sum {i}") for i in range(count)]


def _distinct(count: int) -> list[dict[str, Any]]:
    votes = [f"{i * 137:,}" for i in range(count)]
    random.Random(count).shuffle(votes)
    return _reviews(count, votes)


def _answered(question: Any, answer: Any) -> dict[str, Any]:
    return {
        "questionType": "open-ended",
        "answerType": "?",
        "question": question,
        "answer": answer,
        "answerTime": "May 1, 2014",
    }


def _questions(count: int) -> list[dict[str, Any]]:
    return [_answered(f"q{i}?", f"a{i}.") for i in range(count)]


def _product(title: Any, **fields: Any) -> dict[str, Any]:
    return {
        "review": [],
        "qa": [],
        "asin": "Q0",
        "title": title,
        "price": "$1",
        "feature": [],
        "global_category": "Sports and Outdoors",
        "rank": "",
        "details": {},
        "description": [],
        **fields,
    }


def _size(text: Any) -> dict[str, Any]:
    return {"product_dimensions": text, "shipping_weight": "3 pounds"}


def _products() -> list[dict[str, Any]]:
    return [
        _product(
            "Quilp &amp; Sons Kite <b>XL</b>",
            brand="Quilp & Sons",
            category=["kites"],
            color=["red"],
            description=[" A kite.", "For &quot;wind&quot;.\nNo rain. "],
            details=_size("2 x 3 in ; 1 lb"),
            feature=["Light", "ASIN: Q0", "", "Casing of paper", None, "last - one"],
            review=[
                _review('says "fly"', NAN, "ok"),
                _review("It&#39;s\nfine", "1,234", "great"),
                _review("so so", "7", None),
                _review(NAN, "1,000,000", NAN),
                _review("low", " 2 "),
            ],
            qa=[_answered('Is it "red"?', "Yes &gt; no\n"), _answered(None, NAN)],
        ),
        _product("Forty of each", brand="", review=_distinct(40), qa=_questions(40)),
        _product("Plain", details="", description=[""]),
        _product(
            "No dropped list", feature=["asin", "Kasino of asin", ""], details=_size("2 x 3 in")
        ),
        _product("Letters", description="a kite", feature="Red!", details=_size("1 ; 2 ; 3")),
        _product("Odd sizes", description=["", " padded  ", ""], details=_size(["2 in ; 1 lb"])),
        _product("Nested size", details={"product_dimensions": {"a": "1 ; 2"}}, brand=NAN),
        _product("Empty size", details=_size(" ; "), description=["x", ""], brand=None),
        _product("Sixteen equal", review=_reviews(16, [None])),
        _product("Sixteen in steps", review=_reviews(16, ["3", NAN, "1,0", "3", "0"])),
        _product("Thirty with equal votes", review=_reviews(30, ["3", NAN, "12", "3"])),
        _product("Twenty-five", review=_distinct(25), qa=_questions(25)),
        _product("Twenty-six", review=_distinct(26), qa=_questions(26)),
        _product("Twenty-seven", review=_distinct(27), qa=_questions(27)),
        _product("Twenty-eight", review=_distinct(28), qa=_questions(28)),
        _product(NAN, review=[_review("", "0", "")], qa=[_answered("", "")]),
        _product("", feature=["", ""], description=[" ", " "]),
        _product("Reviews without marks", review=[_review("x", "-3"), _review("y", "0")]),
        # get_doc_info raises on the next eight
        _product("Empty vote", review=[_review("x", ""), _review("y", "2")]),
        _product("Number vote", review=[_review("x", 3), _review("y", "4")]),
        _product("Odd description", description=["kept", None]),
        _product("No description", description=NAN),
        _product("Odd features", feature=["kept", 5]),
        _product("No features", feature=NAN),
        _product("Short review", review=[{"vote": "1", "reviewText": "no summary"}]),
        {"title": "Bare record"},
    ]


def amazon() -> Graph:
    """Products, brands, categories and colours; edges one way, some pairs related twice."""
    products = _products()
    others = [
        {"brand_name": "Quilp & Sons"},
        {"brand_name": "Ünal's"},
        {"category_name": "kites"},
        {"category_name": "fishing &amp; paper"},
        {"color_name": "red"},
        {"color_name": "sea green/grey"},
    ]
    kinds = ["brand", "brand", "category", "category", "color", "color"]
    n = len(products)
    edges = [
        (0, 1, 0),
        (0, 1, 1),
        (2, 0, 1),
        (0, 2, 0),
        (1, 2, 1),
        (3, 0, 1),
        (4, 0, 0),
        (0, 5, 1),
        (16, 0, 0),
        (2, 3, 1),
        (8, 0, 0),
        (0, 8, 0),
        (9, 10, 1),
        (4, 4, 0),
        (0, n, 2),
        (1, n + 1, 2),
        (1, n, 2),
        (0, n + 2, 3),
        (0, n + 3, 3),
        (5, n + 2, 3),
        (0, n + 4, 4),
        (6, n + 5, 4),
    ]
    return {
        "node_info": products + others,
        "types": ["product"] * n + kinds,
        "node_type_dict": dict(enumerate(["product", "brand", "category", "color"])),
        "edge_type_dict": dict(
            enumerate(["also_buy", "also_view", "has_brand", "has_category", "has_color"])
        ),
        "edges": edges,
    }
