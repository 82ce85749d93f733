"""The CWE source: facts of the pinned release, and a small made-up one for the odd cases."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ark.errors import UserError
from ark.graph import KnowledgeGraph, open_or_build, source_for
from ark.graph.sources.cwe_text import without_references

TYPES = {
    "weakness": 938,
    "vulnerability": 2_032,
    "category": 374,
    "view": 50,
    "impact": 23,
    "scope": 8,
    "phase": 15,
    "language": 21,
    "technology": 20,
    "architecture": 6,
    "operating system": 5,
    "detection method": 18,
}
RELATIONS = {
    "child of": 1_307,
    "peer of": 92,
    "can precede": 137,
    "can also be": 27,
    "requires": 13,
    "starts with": 3,
    "has member": 4_668,
    "has impact": 1_826,
    "affects": 1_491,
    "introduced in": 1_215,
    "mitigated in": 1_176,
    "applies to": 1_483,
    "detected by": 709,
    "observed in": 2_952,
}
REFERENCE = re.compile(r"(?:CWE|CVE|CAPEC)-\d|\[REF-")
SPACE = "{http://cwe.mitre.org/cwe-7}"


@pytest.fixture(scope="module")
def cwe(cwe_graph: KnowledgeGraph) -> KnowledgeGraph:
    return cwe_graph


@pytest.fixture(scope="module")
def catalogue(cwe: KnowledgeGraph) -> Any:
    """The same file, read by the standard library."""
    file = source_for("cwe")._files[0]  # type: ignore[attr-defined]
    return ElementTree.parse(file).getroot()


def neighbours(g: KnowledgeGraph, node_id: str, relation: str) -> list[str]:
    targets, relations, _ = g.out_edges(g.index(node_id))
    number = g.relations.index(relation)
    return [g.id(int(t)) for t, r in zip(targets, relations, strict=True) if r == number]


def test_pinned_content_hash(cwe: KnowledgeGraph) -> None:
    if importlib.metadata.version("cwe2") != "3.0.0":
        pytest.skip("another release of cwe2")
    assert source_for("cwe").provenance().content_hash == cwe.content_hash
    assert cwe.manifest["version"] == "4.14 (2024-02-29)"
    assert "https://cwe.mitre.org" in cwe.manifest["credit"]
    assert "Copyright © 2006–2022, The MITRE Corporation" in cwe.manifest["credit"]


def test_the_licence_is_the_package_s_own(cwe: KnowledgeGraph) -> None:
    kept = (cwe.path / "LICENSE.data").read_text(encoding="utf-8")
    (licence,) = [
        file.locate()
        for file in importlib.metadata.files("cwe2") or []
        if file.name == "cwe-tou.LICENSE" and "dist-info" in str(file)
    ]
    assert Path(licence).read_text(encoding="utf-8").strip() in kept
    assert "CWE logo are trademarks of The MITRE Corporation" in kept


def test_counts(cwe: KnowledgeGraph) -> None:
    assert {t["name"]: t["count"] for t in cwe.schema["types"]} == TYPES
    assert {r["name"]: r["count"] for r in cwe.schema["relations"]} == RELATIONS
    assert (cwe.n_nodes, cwe.n_edges) == (sum(TYPES.values()), sum(RELATIONS.values()))
    ids = [cwe.id(i) for i in range(cwe.n_nodes)]
    assert ids == sorted(ids)


def test_texts(cwe: KnowledgeGraph) -> None:
    lengths = [len(cwe.text(i)) for i in cwe.of_type("weakness").tolist()]
    assert min(lengths) > 40
    assert 1_200 < statistics.mean(lengths) < 1_450
    silent = {cwe.type(i) for i in range(cwe.n_nodes) if not cwe.text(i)}
    assert silent == set(TYPES) - {"weakness", "vulnerability", "category", "view"}
    for i in range(cwe.n_nodes):
        assert not REFERENCE.search(cwe.text(i)), cwe.text(i)
        assert not any(REFERENCE.search(alias) for alias in cwe.aliases(i))
        assert cwe.text(i) == " ".join(cwe.text(i).split())


def test_a_weakness(cwe: KnowledgeGraph) -> None:
    node = cwe.node(cwe.index("CWE-1021"))
    assert node.name == "Improper Restriction of Rendered UI Layers or Frames"
    for piece in (
        "The web application does not restrict or incorrectly restricts frame objects",  # short
        "A web application is expected to place restrictions",  # extended description
        "masked and hidden from the user's view",  # a consequence
        'A developer can use a "frame-breaker" script',  # a mitigation
    ):
        assert piece in node.text
    assert "Modify Application Data" not in node.text
    assert node.attrs["attack patterns"] == (103, 181, 222, 504, 506, 587, 654)
    assert node.attrs["abstraction"] == "Base"
    names = {*node.aliases, *cwe.held_out()[node.id]}
    assert names == {"Clickjacking", "Tapjacking", "UI Redress Attack"}
    for name in names:
        assert (name in node.text) == (name in node.aliases)


def test_names_of_taxonomies(cwe: KnowledgeGraph) -> None:
    held_out = cwe.held_out()
    names = {*cwe.aliases(cwe.index("CWE-415")), *held_out.get("CWE-415", ())}
    assert {"Doubly freeing memory", "DFREE - Double-Free Vulnerability"} <= names
    # "Directory Traversal ..." with a digit, or for several weaknesses, is no name.
    every = [
        name
        for i in cwe.of_type("weakness").tolist()
        for name in (*cwe.aliases(i), *held_out.get(cwe.id(i), ()))
    ]
    assert not [name for name in every if name.startswith("Other ")]
    assert "Miscellaneous alternate path traversal" not in every
    assert len(every) > 450


def test_entries_against_the_file(cwe: KnowledgeGraph, catalogue: Any) -> None:
    def numbers(entry: Any, path: str) -> list[str]:
        return [e.get("CWE_ID") for e in entry.iterfind("/".join(SPACE + p for p in path.split()))]

    found = {tag: list(catalogue.iter(SPACE + tag)) for tag in ("Weakness", "Category", "View")}
    dead = {e.get("ID") for kind in found.values() for e in kind if e.get("Status") == "Deprecated"}
    assert len(dead) == 64
    for number in dead:
        with pytest.raises(KeyError):
            cwe.index(f"CWE-{number}")
    for entry in found["Category"]:
        if entry.get("ID") not in dead:
            wanted = Counter(f"CWE-{n}" for n in numbers(entry, "Relationships Has_Member"))
            wanted = Counter({k: v for k, v in wanted.items() if k[4:] not in dead})
            assert Counter(neighbours(cwe, f"CWE-{entry.get('ID')}", "has member")) == wanted
    for entry in found["Weakness"][:200]:
        if entry.get("ID") not in dead:
            cves = {
                "".join(e.itertext()).strip() for e in entry.iter(f"{SPACE}Reference") if e.text
            }
            wanted_cves = {c for c in cves if c.startswith("CVE-")}
            assert set(neighbours(cwe, f"CWE-{entry.get('ID')}", "observed in")) == wanted_cves


def test_attributes_of_edges(cwe: KnowledgeGraph) -> None:
    targets, relations, edges = cwe.out_edges(cwe.index("CWE-79"))
    told = {
        (cwe.relations[r], cwe.name(int(t))): cwe.edge_attrs(int(e))
        for t, r, e in zip(targets, relations, edges, strict=True)
    }
    assert told["detected by", "Black Box"] == {"effectiveness": ("Moderate",)}
    assert told["applies to", "Web Based"] == {"prevalence": ("Often",)}
    assert "Confidentiality" in told["has impact", "Read Application Data"]["scope"]  # type: ignore[operator]
    assert told["mitigated in", "Operation"]["strategy"] == ("Environment Hardening", "Firewall")
    parents = [cwe.edge_attrs(int(e)) for e, r in zip(edges, relations, strict=True) if r == 0]
    assert [p["view"] for p in parents] == [
        "Research Concepts",
        "Weaknesses for Simplified Mapping of Published Vulnerabilities",
    ]
    assert parents[0]["ordinal"] == ("Primary",)


def test_a_vulnerability_is_a_number_with_what_is_told_of_it(cwe: KnowledgeGraph) -> None:
    node = cwe.node(cwe.index("CVE-2022-24045"))
    assert (node.type, node.name, node.aliases) == ("vulnerability", node.id, ())
    assert "HTTPOnly" in node.text
    assert "SameSite" in node.text
    assert all(re.fullmatch(r"CVE-\d+-\d+", cwe.id(i)) for i in cwe.of_type("vulnerability"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("an integer overflow (CWE-190) leading to (CWE-119).", "an integer overflow leading to."),
        ("ceiling() and floor() on values (CWE-1339)", "ceiling() and floor() on values"),
        ("CWE-918 (SSRF) and CWE-611 (XXE) differ", "SSRF and XXE differ"),
        ("a (see CWE-20) b", "a b"),
        ("a (e.g., CWE-20, CWE-79 or CWE-80) b", "a b"),
        ("(see CWE-20, which is just one)", "(see, which is just one)"),
        ("such as CWE-95, CWE-621, and others", "such as, and others"),
        ("PaX [REF-60] [REF-61]. More", "PaX. More"),
        ("as in CVE-2002-0184 and CAPEC-63", "as in"),
        ("CWE 4.14 and CWE IDs, non-CWE-like (x)", "CWE 4.14 and CWE IDs, non-CWE-like (x)"),
    ],
)
def test_references_are_cut(text: str, left: str) -> None:
    assert without_references(text) == left


HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE Weakness_Catalog [<!ENTITY secret SYSTEM "secret.txt">]>
<Weakness_Catalog Name="CWE" Version="9.9" Date="2000-01-01" xmlns="http://cwe.mitre.org/cwe-7"
 xmlns:xhtml="http://www.w3.org/1999/xhtml">"""
SMALL = """
<Weaknesses>
 <Weakness ID="1" Name="Odd  Thing " Abstraction="Base" Structure="Simple" Status="Draft">
  <Description>Plain &secret;words.</Description>
  <Extended_Description><xhtml:p>One<xhtml:b>two</xhtml:b>.</xhtml:p><xhtml:ul><xhtml:li>three
   </xhtml:li><xhtml:li>four (CWE-2)</xhtml:li></xhtml:ul></Extended_Description>
  <Related_Weaknesses>
   <Related_Weakness Nature="NATURE" CWE_ID="2" View_ID="5" Ordinal="Primary"/>
   <Related_Weakness Nature="ChildOf" CWE_ID="3" View_ID="5"/>
  </Related_Weaknesses>
  <Applicable_Platforms>
   <Language Class="Not Language-Specific" Prevalence="Undetermined"/>
   <Language Name="Other" Prevalence="Often"/>
  </Applicable_Platforms>
  <Alternate_Terms><Alternate_Term><Term>Blob / Clump</Term>
   <Description>What blobs are called.</Description></Alternate_Term></Alternate_Terms>
  <Common_Consequences><Consequence><Scope>Other</Scope><Scope>Integrity</Scope>
   <Impact>Crash</Impact><Likelihood>High</Likelihood><Note>It falls over.</Note></Consequence>
   <Consequence><Scope>Integrity</Scope><Impact>Crash</Impact><Note>It falls over.</Note>
   </Consequence></Common_Consequences>
  <Observed_Examples>
   <Observed_Example><Reference>CVE-1999-0001</Reference><Description>First.</Description>
    <Link>x</Link></Observed_Example>
   <Observed_Example><Reference>[REF-7]</Reference><Description>No.</Description>
    <Link>x</Link></Observed_Example></Observed_Examples>
  <Taxonomy_Mappings>
   <Taxonomy_Mapping Taxonomy_Name="CLASP"><Entry_Name>Strange entity</Entry_Name>
   </Taxonomy_Mapping>
   <Taxonomy_Mapping Taxonomy_Name="PLOVER"><Entry_Name>Shared box</Entry_Name></Taxonomy_Mapping>
   <Taxonomy_Mapping Taxonomy_Name="WASC"><Entry_Name>Top 10 thing</Entry_Name></Taxonomy_Mapping>
   <Taxonomy_Mapping Taxonomy_Name="OWASP"><Entry_Name>Foreign</Entry_Name></Taxonomy_Mapping>
  </Taxonomy_Mappings>
 </Weakness>
 <Weakness ID="2" Name="Second" Abstraction="Base" Structure="Simple" Status="Draft">
  <Description>Nothing.</Description>
  <Taxonomy_Mappings>
   <Taxonomy_Mapping Taxonomy_Name="WASC"><Entry_Name>shared box</Entry_Name></Taxonomy_Mapping>
  </Taxonomy_Mappings>
 </Weakness>
 <Weakness ID="3" Name="Gone" Abstraction="Base" Structure="Simple" Status="Deprecated">
  <Description>Old.</Description></Weakness>
</Weaknesses>
<Categories><Category ID="4" Name="Box" Status="Draft"><Summary>Things.</Summary>
 <Relationships><Has_Member CWE_ID="1" View_ID="5"/><Has_Member CWE_ID="3" View_ID="5"/>
 </Relationships></Category></Categories>
<Views><View ID="5" Name="All of it" Type="Graph" Status="Draft"><Objective>Order.</Objective>
 <Members><Has_Member CWE_ID="4" View_ID="5"/></Members></View></Views>
</Weakness_Catalog>"""


def release(folder: Path, xml: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "cwec_v9.9.xml").write_text(xml, encoding="utf-8")
    (folder / "cwe-tou.LICENSE").write_text("Use it.\n", encoding="utf-8")
    (folder / "cwe.NOTICE").write_text("Copyright © 1999, The MITRE\nCorporation.", "utf-8")
    (folder / "secret.txt").write_text("SECRET", encoding="utf-8")
    return folder


def build(folder: Path, tmp_path: Path) -> KnowledgeGraph:
    pytest.importorskip("lxml")
    return open_or_build(source_for("cwe", path=folder), tmp_path / "root")


def test_small_release(tmp_path: Path) -> None:
    g = build(release(tmp_path / "cwe", HEAD + SMALL.replace("NATURE", "CanPrecede")), tmp_path)
    odd = g.node(g.index("CWE-1"))
    assert odd.name == "Odd Thing"
    other = {*odd.aliases, *g.held_out().get("CWE-1", ())}
    assert other == {"Blob", "Clump", "Strange entity"}
    assert odd.text.startswith("Plain &secret; words. Onetwo. three four")  # nothing is resolved
    assert odd.text.count("It falls over.") == 1
    assert ("What blobs are called." in odd.text) == {"Blob", "Clump"}.issubset(odd.aliases)
    assert "SECRET" not in odd.text
    assert neighbours(g, "CWE-1", "can precede") == ["CWE-2"]
    assert neighbours(g, "CWE-1", "child of") == []
    assert neighbours(g, "CWE-1", "affects") == ["scope:Integrity"]
    assert neighbours(g, "CWE-1", "applies to") == ["language:Not Language-Specific"]
    assert neighbours(g, "CWE-1", "observed in") == ["CVE-1999-0001"]
    assert neighbours(g, "CWE-4", "has member") == ["CWE-1"]
    assert neighbours(g, "CWE-5", "has member") == ["CWE-4"]
    told = {r: g.edge_attrs(int(e)) for _, r, e in zip(*g.out_edges(odd.index), strict=True)}
    crash = told[g.relations.index("has impact")]
    assert crash == {"likelihood": ("High",), "scope": ("Integrity", "Other")}
    assert told[g.relations.index("applies to")] == {}
    assert g.node(g.index("CWE-2")).aliases == ()
    assert g.manifest["version"] == "9.9 (2000-01-01)"
    assert "Copyright © 1999, The MITRE Corporation." in g.manifest["credit"]
    assert g.node(g.index("CWE-5")).attrs == {"kind": "Graph", "status": "Draft"}


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (HEAD + SMALL, "unknown relation 'NATURE'"),
        (HEAD + "</Weakness_Catalog>", "holds no weakness"),
        (HEAD, "is not a readable XML file"),
    ],
)
def test_broken_files(tmp_path: Path, xml: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        build(release(tmp_path / "cwe", xml), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cwec_v9.9.xml", "cwe-tou.LICENSE", "cwe.NOTICE"])
def test_missing_files(tmp_path: Path, name: str) -> None:
    folder = release(tmp_path / "cwe", HEAD)
    (folder / name).unlink()
    wanted = "cwec_v*.xml" if name.endswith("xml") else name
    with pytest.raises(UserError, match=rf"needs .*{re.escape(wanted)} in .*pip install"):
        source_for("cwe", path=folder).key()


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cwe2", None)
    with pytest.raises(UserError, match=r"pip install 'ark-harness\[demo\]'"):
        source_for("cwe").key()
