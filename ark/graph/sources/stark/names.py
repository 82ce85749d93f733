"""What is known of STaRK's three graphs beforehand: names of files, types and relations, counts.

Counts as the official package sees a loaded graph (paper, Table 1, and its loaders); where only
an approximate figure is published there is none here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DATASET = "snap-stanford/stark"
REVISION = "88269e23e90587f99476c5dd74e235a0877e69be"
LICENCE = "CC-BY-4.0"

INFO, INDEX, RELATIONS, TYPES = "node_info.pkl", "edge_index.pt", "edge_types.pt", "node_types.pt"
TYPE_NAMES, RELATION_NAMES = "node_type_dict.pkl", "edge_type_dict.pkl"
QUESTIONS = "stark_qa/stark_qa.csv"
HUMAN_QUESTIONS = "stark_qa/stark_qa_human_generated_eval.csv"
SPLIT_FILES = ("train", "val", "test", "test-0.1")
QUESTION_FILES = (QUESTIONS, HUMAN_QUESTIONS, *(f"split/{s}.index" for s in SPLIT_FILES))

# sha256 of files of the pinned revision; of some only the beginning is on record.
SHA256 = {
    "skb/prime/processed.zip": "f6f265f60b761784fb7c2f052359f9cd3bf9ea20c4a307865f62ce173b294dfc",
    "skb/mag/processed.zip": "7bfac742c1fb77694b3fab76be5088f9c3a636f47366188b70d3f378cfbd3053",
    "qa/prime/stark_qa/stark_qa.csv": (
        "a27e5d63da6044e562e33bc94e37f41e076f2cb4142d6adc370a0981c5ee6f16"
    ),
    "qa/prime/stark_qa/stark_qa_human_generated_eval.csv": "9194c66c",
    "qa/prime/split/test.index": "424d99e7d0ec209ad37361da14b63970d6c3bff27369f597cf3aec6cc28dbb76",
    "qa/prime/split/test-0.1.index": "05a94ab7",
}


@dataclass(frozen=True)
class Benchmark:
    """One of the three graphs. ``folder`` lies under the graph's root.

    ``node_types`` and ``relations`` are in the order of their numbers. ``stored_names`` says
    whether these names are read from pickles beside the graph (MAG's are constants of the
    package, whatever its files say).
    """

    name: str
    title: str
    folder: str
    node_types: tuple[str, ...]
    relations: tuple[str, ...]
    stored_names: bool
    nodes: int
    edges: int
    per_type: Mapping[str, int]
    max_file: int
    credit: str

    @property
    def archive(self) -> str:
        """The archive in the data set."""
        return f"skb/{self.name}/processed.zip"

    @property
    def files(self) -> tuple[str, ...]:
        """Files that the conversion reads, by base name."""
        names = (TYPE_NAMES, RELATION_NAMES) if self.stored_names else ()
        return (INFO, INDEX, RELATIONS, TYPES, *names)


_PAPER = "STaRK (Wu et al., 2024), CC BY 4.0"

PRIME = Benchmark(
    name="prime",
    title="PRIME",
    folder="processed",
    node_types=(
        *("disease", "gene/protein", "molecular_function", "drug", "pathway", "anatomy"),
        *("effect/phenotype", "biological_process", "cellular_component", "exposure"),
    ),
    relations=(
        *("ppi", "carrier", "enzyme", "target", "transporter", "contraindication", "indication"),
        *("off-label use", "synergistic interaction", "associated with", "parent-child"),
        *("phenotype absent", "phenotype present", "side effect", "interacts with", "linked to"),
        *("expression present", "expression absent"),
    ),
    stored_names=True,
    nodes=129_375,
    edges=8_100_498,
    per_type={
        "disease": 17_080,
        "gene/protein": 27_671,
        "molecular_function": 11_169,
        "drug": 7_957,
        "pathway": 2_516,
        "anatomy": 14_035,
        "effect/phenotype": 15_311,
        "biological_process": 28_642,
        "cellular_component": 4_176,
        "exposure": 818,
    },
    max_file=2 << 30,
    credit=f"{_PAPER}; graph from PrimeKG (Chandak et al., 2023)",
)
MAG = Benchmark(
    name="mag",
    title="MAG",
    folder="processed",
    node_types=("author", "institution", "field_of_study", "paper"),
    relations=(
        "author___affiliated_with___institution",
        "paper___cites___paper",
        "paper___has_topic___field_of_study",
        "author___writes___paper",
    ),
    stored_names=False,
    nodes=1_872_968,
    edges=39_802_116,
    per_type={"paper": 700_244},
    max_file=12 << 30,
    credit=f"{_PAPER}; graph from ogbn-mag and the Microsoft Academic Graph (ODC-BY)",
)
AMAZON = Benchmark(
    name="amazon",
    title="AMAZON",
    folder="processed/cache/brand-category-color",
    node_types=("product", "brand", "category", "color"),
    relations=("also_buy", "also_view", "has_brand", "has_category", "has_color"),
    stored_names=True,
    nodes=1_035_542,
    edges=9_443_802,
    per_type={"product": 957_192},
    max_file=24 << 30,
    credit=f"{_PAPER}; graph from Amazon reviews (He & McAuley, 2016) and questions "
    "(McAuley et al., 2015)",
)
BENCHMARKS = {b.name: b for b in (AMAZON, MAG, PRIME)}
