"""What ``quirks=fixed`` mends in STaRK's documents, and that odd records never raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark.graph.sources.stark import documents_amazon, documents_mag, documents_prime
from ark.graph.sources.stark.documents_common import QUIRKS, VERSIONS, Neighbor, cleaned, missing

NAN = float("nan")


def amazon(quirks: str = "fixed", **fields: Any) -> str:
    return documents_amazon.document({"title": "Kite", **fields}, "product", quirks=quirks)


def named(name: Any, **fields: Any) -> str:
    record = {"type": "author", "DisplayName": name, **fields}
    return documents_mag.document(record, "author", quirks="fixed")


def test_prime_prints_lists_and_dicts_as_text() -> None:
    details = {
        "alias": ["A1", "A2", "", NAN],
        "genomic_pos": [{"chr": "4", "end": 9}, {"chr": "5"}],
        "other": {"main": "x", "more": ["y", "z"], "none": [], "gone": None},
        "empty": [],
        "nothing": None,
    }
    info = {"type": "gene/protein", "name": "G", "source": "S", "details": details}
    assert documents_prime.document(info, "gene/protein", quirks="fixed") == (
        "- name: G\n- type: gene/protein\n- source: S\n- details:\n"
        "  - alias (other gene names): A1; A2\n"
        "  - genomic_pos (genomic position): chr: 4; end: 9\n"
        "  - other: main: x; more: y, z\n"
    )
    hollow = {**info, "details": {"alias": [], "x": {"y": [NAN]}}}
    assert "details" not in documents_prime.document(hollow, "gene/protein", quirks="fixed")


def test_prime_groups_types_by_set_order_or_ascending() -> None:
    met = [Neighbor("cellular_component", "c"), Neighbor("disease", "d"), Neighbor("new", "n")]
    relations = {"linked to": met, "ppi": []}
    official = documents_prime.relations_text(relations, "drug")
    assert official.startswith("- relations:\n  linked_to: {cellular_component: (c),disease: (d),")
    assert documents_prime.relations_text(relations, "drug", quirks="fixed") == (
        "- relations:\n  linked_to: {disease: (d),cellular_component: (c),new: (n),}"
    )
    assert documents_prime.relations_text({"ppi": []}, "drug") == ""


def test_mag_keeps_minus_one_inside_names() -> None:
    assert named("Interleukin-1", PaperCount=3, CitationCount=-1) == (
        "- author name: Interleukin-1\n- author paper count: 3\n"
    )
    for name in (-1, "-1", NAN, None, ""):
        assert named(name, PaperCount="-1", CitationCount=NAN) == "- author name: Unknown\n"


def test_mag_skips_what_is_missing_in_papers() -> None:
    record = {
        "type": "paper", "title": -1, "abstract": "-1", "Date": NAN, "OriginalVenue": NAN,
        "JournalDisplayName": "", "ConferenceSeriesDisplayName": -1,
        "ConferenceInstancesDisplayName": "FOLD 2011",
    }  # fmt: skip
    assert documents_mag.document(record, "paper", quirks="fixed") == (
        " - paper title: Unknown\n - conference: FOLD 2011\n"
    )


def test_mag_relations_keep_directions_apart() -> None:
    cited, citing = Neighbor("paper", "Old"), Neighbor("paper", "New")
    relations = {
        "paper___cites___paper": [cited, Neighbor("paper", "-1")],
        documents_mag.CITED_BY: [citing],
        "paper___has_topic___field_of_study": [Neighbor("field_of_study", "-1")],
        "author___writes___paper": [
            Neighbor("author", "Ann", ("-1", "Lab-1")),
            Neighbor("author", ""),
        ],
    }
    assert documents_mag.relations_text(relations, "paper", quirks="fixed") == (
        '- relations:\n\npaper cites paper: ("Old"),\npaper cited_by paper: ("New"),'
        "\nauthor writes paper: (Ann (Lab-1)),"
    )
    assert documents_mag.relations_text(relations, "author", quirks="fixed") == ""


@pytest.mark.parametrize(("quirks", "count"), [("official", 27), ("fixed", 25)])
def test_amazon_prints_as_many_entries_as_were_meant(quirks: str, count: int) -> None:
    reviews = [{"vote": f"{n:,}", "summary": "s", "reviewText": "t"} for n in range(990, 1030)]
    questions = [{"question": f"q{n}", "answer": "a"} for n in range(40)]
    text = amazon(quirks, review=reviews, qa=questions)
    assert (text.count("\nsummary: "), text.count("\nquestion: ")) == (count, count)
    assert text.split("\n")[2] == "#40:"  # votes are numbers, not strings: 1,029 before 999


def test_amazon_drops_features_with_asin_as_a_word_only() -> None:
    features = ["Casing of paper", "ASIN: B0", "", "see asin", "Increasing"]
    assert amazon(feature=features) == (
        "- product: Kite\n- features: \n#1: Casing of paper\n#5: Increasing\n"
    )
    assert amazon("official", feature=features) == "- product: Kite\n- features: \n"
    assert amazon(feature=["asin"]) == "- product: Kite\n"


def test_amazon_leaves_out_missing_fields_and_empty_headings() -> None:
    review = [{"vote": None, "summary": NAN, "reviewText": "fine"}, {"vote": "9", "summary": None}]
    assert amazon(brand=NAN, review=review, qa=[{"question": "", "answer": None}]) == (
        '- product: Kite\n- reviews: \n#1:\ntext: "fine"\n'
    )


def test_amazon_takes_strings_whole() -> None:
    assert amazon(description="a kite", feature="Red") == (
        "- product: Kite\n- description: a kite\n- features: \n#1: Red\n"
    )


@pytest.mark.parametrize(
    ("text", "official", "fixed"),
    [
        ("2 ; 1 lb", ["- dimensions: 2", "- weight: 1 lb"], ["- dimensions: 2", "- weight: 1 lb"]),
        ("2 in", [], ["- dimensions: 2 in"]),
        ("1 ; 2 ; 3", [], []),
        (" ; 1 lb", ["- dimensions: ", "- weight: 1 lb"], ["- weight: 1 lb"]),
    ],
)
def test_amazon_dimensions(text: str, official: list[str], fixed: list[str]) -> None:
    details = {"product_dimensions": text}
    assert amazon("official", details=details).split("\n")[1:-1] == official
    assert amazon("fixed", details=details).split("\n")[1:-1] == fixed
    for quirks in QUIRKS:
        record = {"title": "Kite", "details": details}
        paper = documents_amazon.document(record, "product", version="paper", quirks=quirks)
        assert paper == "- product: Kite\n"


def test_names_may_be_numpy_strings() -> None:
    """The released AMAZON files hold the names of brands, categories and colours as numpy.str_."""
    record = {"brand_name": np.str_("Quilp & Sons")}
    assert documents_amazon.document(record, "brand") == "brand name: Quilp & Sons"
    label = documents_amazon.label(record, "brand")
    text = documents_amazon.relations_text({"has_brand": [Neighbor("brand", label)]}, "product")
    assert text == "- relations:\n  brand: Quilp & Sons\n"


def test_cleaned_leaves_lists_alone_and_works_in_depth() -> None:
    record = {"a": "", "b": NAN, "c": ["", NAN], "d": {"e": "nan", "f": {}}, "g": 0, "h": None}
    assert str(cleaned(record)) == "{'c': ['', nan], 'd': {'f': {}}, 'g': 0, 'h': None}"
    assert [missing(value) for value in (None, NAN, np.float32("nan"), "nan", 0)] == (
        [True, True, True, False, False]
    )


KEYS = (
    "title abstract name type source details DisplayName PaperCount CitationCount Date brand "
    "OriginalVenue JournalDisplayName description feature review qa vote summary reviewText "
    "question answer product_dimensions alias interpro generif genomic_pos desc text _id x_id "
    "brand_name color_name"
).split()
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    | st.sampled_from(["-1", "nan", "asin", " ; ", "1,234", "gene/protein", "paper", "author"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from(KEYS) | st.integers(0, 3), inner, max_size=4)
    ),
    max_leaves=12,
)
RECORDS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=9)
TYPES = st.sampled_from(["paper", "author", "product", "brand", "color", "gene/protein", "x"])


@given(RECORDS, TYPES, st.sampled_from(VERSIONS), st.sampled_from(QUIRKS))
def test_no_record_raises(info: dict[str, Any], kind: str, version: str, quirks: str) -> None:
    before = repr(info)
    for module in (documents_prime, documents_mag, documents_amazon):
        text = module.document(info, kind, version=version, quirks=quirks)
        assert type(text) is str
        assert text == module.document(info, kind, version=version, quirks=quirks)
        neighbors = [Neighbor(kind, module.label(info, kind), ("-1", "Lab"))]
        relations = {"also_buy": neighbors, "has_brand": neighbors, "ppi": []}
        assert type(module.relations_text(relations, kind, quirks=quirks)) is str
    assert repr(info) == before
