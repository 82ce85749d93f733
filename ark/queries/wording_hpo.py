"""Wording pack for the Human Phenotype Ontology graph (``hpo``). All phrases are our own."""

from __future__ import annotations

from ark.queries.hpo_clauses import (
    APPLY,
    APPLY_GENE,
    APPLY_PAIR,
    BE_DESCRIBED,
    BE_KIND,
    BE_PARENT,
    BE_SIBLING,
    BEGIN,
    CAUSE,
    CAUSE_DESCRIBED,
    CAUSE_DESCRIBED_BEGIN,
    CAUSE_FOLLOW,
    CAUSE_PAIR,
    CAUSE_PAIR_BEGIN,
    CAUSE_SHOW,
    CAUSE_TWO_DESCRIBED,
    DIE,
    FOLLOW,
    HAVE_GENE,
    HISTORY,
    OCCUR,
    OCCUR_GENE,
    PROGRESS,
    SHARE_GENE,
    SHOW,
    SHOW_DESCRIBED,
    SHOW_KIND,
)
from ark.queries.wording import Pattern, Wording

_SHOW_BOTH = (
    "show both {0} and {1}",
    "combine {0} with {1}",
    "present with {0} as well as {1}",
    "have {0} together with {1}",
)
_OCCUR_BOTH = (
    "occur in both {0} and {1}",
    "are common to {0} and {1}",
    "are shared by {0} and {1}",
)
_OTHER_SIGN = (
    "show one finding whose description mentions {0} and another whose description mentions {1}",
    "come with a sign explained in terms of {0} as well as a sign explained in terms of {1}",
    "involve two features, one described by way of {0} and one by way of {1}",
)

_DISEASES = (
    Pattern(
        "disease: two findings",
        "disease",
        (SHOW, SHOW),
        6,
        _SHOW_BOTH,
        (
            "A patient has {0} and {1}. Which {nouns} fit?",
            "Both {0} and {1} were noted on examination: which {nouns} list the two of them?",
        ),
    ),
    Pattern(
        "disease: three findings",
        "disease",
        (SHOW, SHOW, SHOW),
        5,
        _SHOW_BOTH,
        (
            "Someone presents with {0}, {1} and {2}. Which {nouns} come into question?",
            "Where do {0}, {1} and {2} occur together? Name the {nouns}.",
        ),
    ),
    Pattern(
        "disease: finding, inheritance",
        "disease",
        (SHOW, FOLLOW),
        4,
        (),
        ("With {1} and {0} in one family, which {nouns} should be considered?",),
    ),
    Pattern("disease: two findings, inheritance", "disease", (SHOW, SHOW, FOLLOW), 5, _SHOW_BOTH),
    Pattern("disease: finding, onset", "disease", (SHOW, BEGIN), 3),
    Pattern(
        "disease: two findings, onset",
        "disease",
        (SHOW, SHOW, BEGIN),
        4,
        _SHOW_BOTH,
        ("Which {nouns} of {2} lead to {0} and {1}?",),
    ),
    Pattern("disease: finding, pace", "disease", (SHOW, PROGRESS), 2),
    Pattern("disease: finding, death", "disease", (SHOW, DIE), 2),
    Pattern("disease: finding, history", "disease", (SHOW, HISTORY), 1),
    Pattern(
        "disease: gene",
        "disease",
        (HAVE_GENE,),
        3,
        (),
        ("Changes in {0} have been found: which {nouns} are known for this gene?",),
    ),
    Pattern("disease: gene, onset", "disease", (HAVE_GENE, BEGIN), 2),
    Pattern("disease: gene, finding", "disease", (HAVE_GENE, SHOW), 3),
    Pattern("disease: finding, kind of finding", "disease", (SHOW, SHOW_KIND), 4),
    Pattern("disease: shared gene", "disease", (SHARE_GENE,), 2),
    Pattern("disease: finding, shared gene", "disease", (SHOW, SHARE_GENE), 4),
    Pattern("disease: finding, described", "disease", (SHOW, SHOW_DESCRIBED), 9),
    Pattern("disease: inheritance, described", "disease", (FOLLOW, SHOW_DESCRIBED), 5),
    Pattern("disease: finding, onset, described", "disease", (SHOW, BEGIN, SHOW_DESCRIBED), 5),
    Pattern("disease: gene, described", "disease", (HAVE_GENE, SHOW_DESCRIBED), 4),
    Pattern("disease: shared gene, described", "disease", (SHARE_GENE, SHOW_DESCRIBED), 4),
    Pattern("disease: described", "disease", (SHOW_DESCRIBED,), 4),
    Pattern("disease: two described", "disease", (SHOW_DESCRIBED, SHOW_DESCRIBED), 5, _OTHER_SIGN),
)
_GENES = (
    Pattern(
        "gene: disease",
        "gene",
        (CAUSE,),
        3,
        (),
        ("Variants in which {nouns} are associated with {0}?",),
    ),
    Pattern("gene: two diseases", "gene", (CAUSE, CAUSE), 2, ("are common to {0} and {1}",)),
    Pattern("gene: disease, another with a finding", "gene", (CAUSE, CAUSE_SHOW), 3),
    Pattern(
        "gene: two findings",
        "gene",
        (CAUSE_PAIR,),
        6,
        (),
        ("A disease brings {0} along with {1}. Which {nouns} could be behind it?",),
    ),
    Pattern("gene: finding, inheritance", "gene", (CAUSE_FOLLOW,), 4),
    Pattern("gene: two findings, onset", "gene", (CAUSE_PAIR_BEGIN,), 4),
    Pattern("gene: finding, described", "gene", (CAUSE_DESCRIBED,), 9),
    Pattern("gene: onset, described", "gene", (CAUSE_DESCRIBED_BEGIN,), 4),
    Pattern("gene: two described", "gene", (CAUSE_TWO_DESCRIBED,), 4),
)
_PHENOTYPES = (
    Pattern(
        "phenotype: two diseases",
        "phenotype",
        (OCCUR, OCCUR),
        5,
        _OCCUR_BOTH,
        ("What do {0} and {1} have in common? Name the {nouns}.",),
    ),
    Pattern("phenotype: three diseases", "phenotype", (OCCUR, OCCUR, OCCUR), 4, _OCCUR_BOTH),
    Pattern("phenotype: disease, kind", "phenotype", (OCCUR, BE_KIND), 4),
    Pattern("phenotype: gene, kind", "phenotype", (OCCUR_GENE, BE_KIND), 4),
    Pattern("phenotype: two genes", "phenotype", (OCCUR_GENE, OCCUR_GENE), 3),
    Pattern("phenotype: disease, gene", "phenotype", (OCCUR, OCCUR_GENE), 4),
    Pattern("phenotype: parents", "phenotype", (BE_PARENT,), 1),
    Pattern("phenotype: sibling in a disease", "phenotype", (OCCUR, BE_SIBLING), 4),
    Pattern(
        "phenotype: disease, described",
        "phenotype",
        (OCCUR, BE_DESCRIBED),
        7,
        (),
        ("Someone has {0}. Which of its reported {nouns} have a definition touching on {1}?",),
    ),
    Pattern("phenotype: gene, described", "phenotype", (OCCUR_GENE, BE_DESCRIBED), 6),
    Pattern("phenotype: kind, described", "phenotype", (BE_KIND, BE_DESCRIBED), 5),
    Pattern(
        "phenotype: two diseases, described",
        "phenotype",
        (OCCUR, OCCUR, BE_DESCRIBED),
        5,
        _OCCUR_BOTH,
    ),
)
_INHERITANCE = (
    Pattern("inheritance: disease", "inheritance", (APPLY,), 2),
    Pattern("inheritance: gene", "inheritance", (APPLY_GENE,), 3),
    Pattern("inheritance: two findings", "inheritance", (APPLY_PAIR,), 3),
)

HPO = Wording(
    graph="hpo",
    version="1",
    shares={"disease": 38, "gene": 24, "phenotype": 34, "inheritance": 4},
    nouns={
        "disease": ("diseases", "disorders", "conditions"),
        "gene": ("genes",),
        "phenotype": ("phenotypes", "clinical findings", "clinical features", "abnormalities"),
        "inheritance": ("modes of inheritance", "patterns of inheritance"),
    },
    frames=(
        "Which {nouns} {what}?",
        "List the {nouns} that {what}.",
        "What are the {nouns} that {what}?",
        "I am looking for {nouns} that {what}.",
        "Please name all {nouns} that {what}.",
        "Can you find the {nouns} that {what}?",
        "Are there {nouns} that {what}? Name them.",
    ),
    pairs=(
        "{0} and {1}",
        "{0} and also {1}",
        "not only {0} but also {1}",
        "{0} and at the same time {1}",
    ),
    triples=("{0}, {1} and {2}", "{0}, {1} and also {2}", "{0} and {1}, and besides {2}"),
    patterns=(*_DISEASES, *_GENES, *_PHENOTYPES, *_INHERITANCE),
    reuse={"inheritance": 60, "onset and course": 40, "medical history": 10},
    common=frozenset({"phenotype", "inheritance", "onset and course", "medical history"}),
)

ALL_TEMPLATES: tuple[str, ...] = HPO.templates()
"""Every phrase, sentence and filled frame: the controller's rules may share no run with them."""
