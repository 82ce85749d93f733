"""An invented graph of PRIME's shape."""

from __future__ import annotations

from typing import Any

from stark_examples.parts import NAN, Graph, repeated

_PRIME_TYPES = (
    "disease gene/protein molecular_function drug pathway anatomy effect/phenotype "
    "biological_process cellular_component exposure"
).split()
_PRIME_RELATIONS = [
    *("ppi", "carrier", "enzyme", "target", "transporter", "contraindication", "indication"),
    *("off-label use", "synergistic interaction", "associated with", "parent-child"),
    *("phenotype absent", "phenotype present", "side effect", "interacts with", "linked to"),
    *("expression present", "expression absent"),
]


def _gene(name: str, /, **details: Any) -> dict[str, Any]:
    return {"id": 7, "type": "gene/protein", "name": name, "source": "NCBI", "details": details}


def _prime_genes() -> list[dict[str, Any]]:
    return [
        _gene(
            "QLP1",
            query="QLP1",
            _id="7",
            _score=17.25,
            taxid=9606,
            alias=["QLP", "QL-1", "it's"],
            other_names=["quilp like one", "quilpin"],
            genomic_pos=[
                {"chr": "4", "ensemblgene": "ENSQ7", "start": 120, "end": 990, "strand": -1},
                {"chr": "HSCHR4", "start": 1, "end": 2, "strand": -1},
            ],
            generif=[
                {"pubmed": 11, "text": "Quilpin binds copper; see note."},
                {"pubmed": 12, "text": "  Two  spaces stay. "},
            ],
            interpro=[
                {"desc": "Quilp-type fold", "id": "IPR1", "short_desc": "Quilp"},
                {"desc": 'Zinc "claw", type 1', "id": "IPR2", "short_desc": "Claw"},
            ],
            name="quilp like protein 1",
            summary="Folds paper\nand copper.",
            type_of_gene="protein-coding",
            entrez_id=7,
            parent_ids=["x"],
        ),
        _gene(
            "QLP2",
            alias="QL-2",
            other_names="",
            summary=NAN,
            type_of_gene="nan",
            name="",
            genomic_pos={"chr": "X", "start": 5, "end": NAN, "band": ""},
            interpro={"desc": "Single fold", "id": "", "short_desc": NAN},
            uniprot={"Main": "Q1", "Other": ["Q2", "Q3"], "Empty": {}, "Gone": "nan"},
        ),
        _gene(
            "QLP3",
            alias=[],
            generif=[],
            interpro=[],
            other_names=[NAN, ""],
            pseudo=None,
            ok=True,
            summary=None,
        ),
        _gene("LONGRIF", generif=[{"text": "a b"}, {"text": repeated(" rif", 50_010)}]),
        {"id": 8, "type": "gene/protein", "name": "BARE1", "source": "NCBI"},
        # get_doc_info raises on the next five
        _gene("BAD1", interpro={"id": "IPR3", "desc": ""}, summary="kept"),
        _gene("BAD2", interpro=[{"id": "IPR4"}, {"desc": "second"}], alias="kept"),
        _gene("BAD3", genomic_pos=[], name="kept"),
        _gene("BAD4", generif={"pubmed": 3, "text": "a lone note"}),
        _gene("BAD5", generif=[{"pubmed": 4}, {"text": "one text"}]),
    ]


def _prime_others() -> list[dict[str, Any]]:
    def node(kind: str, name: Any, source: str, /, *details: Any) -> dict[str, Any]:
        record = {"id": "X:1", "type": kind, "name": name, "source": source}
        return {**record, "details": details[0]} if details else record

    return [
        node(
            "disease",
            "quilp fever",
            "MONDO_grouped",
            {
                "mondo_id": 12.0,
                "mondo_name": "quilp fever",
                "group_id_bert": "[1, 2]",
                "group_name_bert": "fevers of paper",
                "mondo_definition": "A fever.\nIt passes. ",
                "umls_description": NAN,
                "orphanet_prevalence": "",
                "mayo_symptoms": "nan",
                "orphanet_clinical_description": "Mild – sometimes 40 °C.",
                "score": 0.1,
            },
        ),
        node("disease", "plain disease", "MONDO"),
        node("disease", "hollow disease", "MONDO", {"mondo_id": 3.0, "a": NAN, "b": "", "_c": "x"}),
        node(
            "drug",
            "Quilpol",
            "DrugBank",
            {
                "description": "Takes paper away.",
                "half_life": "2 - 3 hours",
                "indication": None,
                "molecular_weight": 180.0,
                "logp": float("-inf"),
                "atc_1": "Quilpol is anatomically X.",
                "category": "Quilpol is part of A ; B ; C",
                "name": "plain label for drugs",
                "interpro": {"desc": "no gloss outside genes"},
                "state": "solid\r\n",
                "group": NAN,
            },
        ),
        node("drug", "Barepol", "DrugBank"),
        node(
            "pathway",
            "Paper folding",
            "REACTOME",
            {
                "dbId": 5,
                "displayName": "Paper folding",
                "stId": "R-QLP-5",
                "name": ["Paper folding"],
                "xref_identifier": "hidden",
                "hasDiagram": False,
                "isInDisease": True,
                "summation": [{"dbId": 6, "text": "Fold.<br>Unfold."}],
                "goBiologicalProcess": {
                    "accession": "0001",
                    "definition": "",
                    "name": ["folding", NAN],
                },
                "orthologous": [],
            },
        ),
        node("pathway", "Bare way", "REACTOME"),
        node(
            "molecular_function",
            "paper binding",
            "GO",
            {
                "id": "GO:1",
                "name": "paper binding",
                "definition": "Binds {paper}.",
                "is_a": [],
            },
        ),
        node(
            "biological_process", "paper growth", "GO", {"synonyms": {"exact": ["g"], "old": "nan"}}
        ),
        node("cellular_component", "paper vesicle", "GO", {"definition": "A sac – of paper."}),
        node("anatomy", "left ear fold", "UBERON"),
        node("effect/phenotype", "Paper rash", "HPO"),
        node("exposure", 'α-Quilp, "technical" grade & dust', "CTD"),
        node("exposure", "1,2-quilpane", "CTD"),
        node("cellular_component", "late vesicle", "GO"),
        node("disease", "late disease", "MONDO"),
        node("biological_process", "nan", "GO"),  # get_doc_info raises: the name is dropped
    ]


def prime() -> Graph:
    """Ten node types with and without details; every relation in both directions, as released."""
    records = _prime_genes() + _prime_others()
    late = {record["name"]: number for number, record in enumerate(records)}
    pairs = [
        ("Quilpol", "QLP1", "enzyme"),
        ("Quilpol", "QLP1", "target"),
        ("QLP1", "QLP2", "ppi"),
        ("Quilpol", "quilp fever", "indication"),
        ("Quilpol", "plain disease", "off-label use"),
        ("quilp fever", "plain disease", "parent-child"),
        ("QLP1", "quilp fever", "associated with"),
        ("Quilpol", "Barepol", "synergistic interaction"),
        ("Quilpol", "Paper rash", "side effect"),
        ("QLP1", "left ear fold", "expression absent"),
        ("quilp fever", "Paper rash", "phenotype present"),
        # Type numbers meet in orders that differ from ascending: 8 then 0, 9 then 1, nine at once.
        ("paper vesicle", "late disease", "linked to"),
        ("late vesicle", "paper vesicle", "linked to"),
        ("late vesicle", "late disease", "linked to"),
        ("Paper rash", "paper vesicle", "linked to"),
        ("Paper rash", "late disease", "linked to"),
        ("Bare way", "1,2-quilpane", "linked to"),
        ("Bare way", "QLP3", "linked to"),
        ("Bare way", "late vesicle", "linked to"),
        *(
            ("QLP2", other, "interacts with")
            for other in (
                "quilp fever",
                "QLP3",
                "paper binding",
                "Quilpol",
                "Paper folding",
                "left ear fold",
                "Paper rash",
                "paper growth",
                "paper vesicle",
                "1,2-quilpane",
                "late disease",
            )
        ),
        *(
            ("left ear fold", other, "expression present")
            for other in ("1,2-quilpane", "late vesicle", "late disease", "QLP2")
        ),
    ]
    edges = []
    for a, b, relation in pairs:
        source, target, kind = late[a], late[b], _PRIME_RELATIONS.index(relation)
        edges += [(source, target, kind), (target, source, kind)]
    return {
        "node_info": records,
        "types": [record["type"] for record in records],
        "node_type_dict": dict(enumerate(_PRIME_TYPES)),
        "edge_type_dict": dict(enumerate(_PRIME_RELATIONS)),
        "edges": edges,
    }
