"""An invented graph of MAG's shape."""

from __future__ import annotations

from typing import Any

from stark_examples.parts import NAN, Graph


def _named(kind: str, name: Any, papers: Any = 3, citations: Any = 5) -> dict[str, Any]:
    return {
        "id": 0,
        "mag_id": 900,
        "Rank": 1,
        "DisplayName": name,
        "PaperCount": papers,
        "CitationCount": citations,
        "type": kind,
        "new_id": 0,
    }


def _paper(title: Any, abstract: Any, **fields: Any) -> dict[str, Any]:
    names = ("OriginalVenue", "JournalDisplayName", "ConferenceSeriesDisplayName")
    return {
        "id": 0,
        "mag_id": 901,
        "DocType": "Journal",
        "OriginalTitle": title,
        "Year": 2012,
        "Date": "2012-03-04",
        **dict.fromkeys(names, -1),
        "ConferenceInstancesDisplayName": -1,
        "type": "paper",
        "new_id": 0,
        "title": title,
        "abstract": abstract,
        **fields,
    }


def mag() -> Graph:
    """Authors, institutions, fields and papers; edges one way, as released."""
    kinds = ["author", "institution", "field_of_study", "paper"]
    authors = [
        _named("author", "Ann Quilp"),
        _named("author", -1, -1, -1),
        _named("author", "-1", "-1", 0),
        _named("author", "Jean-1 K-10 Smith", -1, 12),
        _named("author", "Bo Ünal", 2.0, NAN),
        _named("author", "", -10, 1),
        _named("author", "Cy -1", 1, -1),
    ]
    institutions = [
        _named("institution", "University of Paper"),
        _named("institution", -1, 4, -1),
        _named("institution", "Lab 3-1, Area-12", -1, -1),
        _named("institution", "A & B (Co)", 7, 8.5),
    ]
    fields = [
        _named("field_of_study", "Interleukin-1 receptor"),
        _named("field_of_study", -1, 9, 9),
        _named("field_of_study", "Folding", "-1", "-1"),
        _named("field_of_study", 2019, 1, 1),
    ]
    papers = [
        _paper("On folding IL-1", "We fold.\r\nTwice -1 - or not.\n\n", OriginalVenue="Paper J."),
        _paper(
            "Second", "B.", JournalDisplayName="Fold Letters", ConferenceSeriesDisplayName="FOLD"
        ),
        _paper("Third", "C. ", ConferenceSeriesDisplayName="SIGFOLD", Date=-1),
        _paper("Fourth", "\n", ConferenceInstancesDisplayName="SIGFOLD-1 2011", Date="-1"),
        _paper(-1, "", OriginalVenue="-1", JournalDisplayName=NAN),
        _paper('The "fifth", it is', "-1", OriginalVenue="", Date=NAN),
        _paper("Sixth – ψ", "\r\n lead \r", OriginalVenue="V-1", JournalDisplayName="never shown"),
        # get_doc_info raises on the next three
        _paper("No abstract", NAN, JournalDisplayName="Fold Letters"),
        _paper("None abstract", None),
        {"type": "paper", "title": "Bare record", "abstract": "Nothing else."},
    ]
    records = [*authors, *institutions, *fields, *papers]
    i, f, p = len(authors), len(authors) + len(institutions), len(records) - len(papers)
    edges = [
        (0, i, 0),
        (0, i + 1, 0),
        (0, i + 2, 0),
        (1, i, 0),
        (3, i + 1, 0),
        (4, i + 3, 0),
        (6, i + 2, 0),
        (p, p + 1, 1),
        (p + 1, p, 1),
        (p + 2, p, 1),
        (p, p, 1),
        (p, p + 5, 1),
        (p + 4, p, 1),
        (p + 3, p + 4, 1),
        (p, f, 2),
        (p, f + 1, 2),
        (p, f + 3, 2),
        (p + 1, f + 1, 2),
        (p + 2, f + 2, 2),
        (p + 7, f, 2),
        *((author, p, 3) for author in range(len(authors))),
        (1, p + 1, 3),
        (3, p + 2, 3),
        (5, p + 3, 3),
    ]
    for number, record in enumerate(records):
        record["new_id"] = number
    return {
        "node_info": records,
        "types": [record["type"] for record in records],
        "node_type_dict": dict(enumerate(kinds)),
        "edge_type_dict": {
            0: "author___affiliated_with___institution",
            1: "paper___cites___paper",
            2: "paper___has_topic___field_of_study",
            3: "author___writes___paper",
        },
        "edges": edges,
    }
