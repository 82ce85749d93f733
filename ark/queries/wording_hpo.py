"""Wording pack for the Human Phenotype Ontology graph (``hpo``). All phrases are our own."""

from __future__ import annotations

from ark.queries.wording import Clause, Described, Named, Pattern, Step, Wording

_NAMED, _DESCRIBED = Named(), Described()
_SHOWS = Step("has phenotype", "phenotype")
_SEEN_IN = Step("has phenotype", "disease", out=False)
_GENE_OF = Step("associated with disease", "disease")
_HAS_GENE = Step("associated with disease", "gene", out=False)
_KIND_OF = Step("is a", "phenotype")
_SUBTYPE = Step("is a", "phenotype", out=False)
_FOLLOWS = Step("has inheritance", "inheritance")
_INHERITS = Step("has inheritance", "disease", out=False)
_COURSE = Step("has onset or course", "onset and course")
_HISTORY = Step("has medical history", "medical history")

_MODE = Named(r"inheritance$")
_ONSET = Named(r"onset$")
_PACE = Named(r"rogressive$")
_DEATH = Named(r"^(?:Death in|Neonatal death|Prenatal death|Stillbirth|Miscarriage)")
_PAST = Named(r"^(?!.*[Hh]istory)")

# --- what diseases do ------------------------------------------------------------------------
SHOW = Clause(
    (_SHOWS,),
    _NAMED,
    ("show {0}", "present with {0}", "feature {0}", "can cause {0}", "come with {0}"),
)
FOLLOW = Clause(
    (_FOLLOWS,), _MODE, ("follow {0}", "are transmitted by {0}", "are passed on by {0}")
)
BEGIN = Clause((_COURSE,), _ONSET, ("have {0}", "are known for {0}", "are recorded with {0}"))
PROGRESS = Clause((_COURSE,), _PACE, ("take a {0} course", "are {0}", "are {0} in nature"))
DIE = Clause((_COURSE,), _DEATH, ("can end in {0}", "may lead to {0}", "carry a risk of {0}"))
HISTORY = Clause(
    (_HISTORY,),
    _PAST,
    ("go along with a history of {0}", "have {0} in the history", "are linked to previous {0}"),
)
HAVE_GENE = Clause(
    (_HAS_GENE,),
    _NAMED,
    ("are associated with the gene {0}", "are linked to {0}", "are tied to changes in {0}"),
)
SHOW_DESCRIBED = Clause(
    (_SHOWS,),
    _DESCRIBED,
    (
        "show a finding whose description mentions {0}",
        "involve a feature explained in terms of {0}",
        "come with a sign whose definition speaks of {0}",
        "have a manifestation described by way of {0}",
    ),
)
SHOW_KIND = Clause(
    (_SHOWS, _KIND_OF),
    _NAMED,
    (
        "show a direct subtype of {0}",
        "present with some finding filed straight under {0}",
        "have a feature that is an immediate subclass of {0}",
    ),
)
SHARE_GENE = Clause(
    (_HAS_GENE, _GENE_OF),
    _NAMED,
    (
        "share an associated gene with {0}",
        "have a causative gene in common with {0}",
        "go back to a gene that is also linked to {0}",
    ),
    others=True,
)

# --- what genes do ---------------------------------------------------------------------------
CAUSE = Clause(
    (_GENE_OF,),
    _NAMED,
    ("are associated with {0}", "are linked to {0}", "have a known tie to {0}"),
)


def _cause_one_that(leaves: tuple[Clause, ...], *phrases: str) -> Clause:
    return Clause((_GENE_OF,), leaves, phrases)


CAUSE_SHOW = Clause(
    (_GENE_OF, _SHOWS),
    _NAMED,
    ("are associated with a disease that shows {0}", "play a part in some disorder with {0}"),
)
CAUSE_PAIR = _cause_one_that(
    (SHOW, SHOW),
    "are associated with a disease that shows both {0} and {1}",
    "are linked to one disorder in which {0} and {1} occur together",
    "have a tie to some condition combining {0} with {1}",
)
CAUSE_FOLLOW = _cause_one_that(
    (SHOW, FOLLOW),
    "are associated with a disease that shows {0} and follows {1}",
    "are linked to a disorder of {1} that comes with {0}",
    "have a tie to a condition featuring {0} and passed on by {1}",
)
CAUSE_PAIR_BEGIN = _cause_one_that(
    (SHOW, SHOW, BEGIN),
    "are associated with a disease of {2} that shows {0} and {1}",
    "are linked to one disorder with {0}, {1} and {2}",
    "have a tie to a condition of {2} marked by {0} together with {1}",
)
CAUSE_DESCRIBED = _cause_one_that(
    (SHOW, SHOW_DESCRIBED),
    "are associated with a disease that shows {0} and a finding described in terms of {1}",
    "are linked to a disorder with {0} and some sign whose description mentions {1}",
    "have a tie to a condition featuring {0} and a feature whose definition speaks of {1}",
)
CAUSE_DESCRIBED_BEGIN = _cause_one_that(
    (BEGIN, SHOW_DESCRIBED),
    "are associated with a disease of {0} showing a finding whose description mentions {1}",
    "are linked to a disorder that has {0} and a sign explained in terms of {1}",
    "have a tie to a condition of {0} with a feature whose definition speaks of {1}",
)
CAUSE_TWO_DESCRIBED = _cause_one_that(
    (SHOW_DESCRIBED, SHOW_DESCRIBED),
    "are associated with a disease that shows one finding described by way of {0} and another "
    "described by way of {1}",
    "are linked to a disorder with a sign whose description mentions {0}, plus a sign whose "
    "description mentions {1}",
    "have a tie to a condition of two features, the first explained in terms of {0}, the second "
    "in terms of {1}",
)

# --- what phenotypes do ----------------------------------------------------------------------
OCCUR = Clause(
    (_SEEN_IN,),
    _NAMED,
    ("occur in {0}", "are seen in {0}", "are reported for {0}", "belong to the picture of {0}"),
)
OCCUR_GENE = Clause(
    (_SEEN_IN, _HAS_GENE),
    _NAMED,
    (
        "occur in a disease linked to {0}",
        "are seen in some disorder associated with the gene {0}",
        "turn up in a condition tied to changes in {0}",
    ),
)
BE_KIND = Clause(
    (_KIND_OF,),
    _NAMED,
    ("are direct subtypes of {0}", "are filed directly under {0}", "are immediate kinds of {0}"),
)
BE_PARENT = Clause(
    (_SUBTYPE,),
    _NAMED,
    ("lie directly above {0} in the ontology", "are the immediate parent terms of {0}"),
)
BE_SIBLING = Clause(
    (_KIND_OF, _SUBTYPE),
    _NAMED,
    ("share a direct parent term with {0}", "are filed next to {0} under one parent term"),
    others=True,
)
BE_DESCRIBED = Clause(
    (),
    _DESCRIBED,
    (
        "have a description that mentions {0}",
        "are explained in terms of {0}",
        "are described by way of {0}",
        "have a definition that speaks of {0}",
    ),
)

# --- what modes of inheritance do ------------------------------------------------------------
APPLY = Clause((_INHERITS,), _NAMED, ("are recorded for {0}", "apply to {0}", "are given for {0}"))
APPLY_GENE = Clause(
    (_INHERITS, _HAS_GENE),
    _NAMED,
    (
        "are recorded for a disease linked to {0}",
        "apply to some disorder associated with the gene {0}",
        "are given for conditions tied to changes in {0}",
    ),
)
APPLY_PAIR = Clause(
    (_INHERITS,),
    (SHOW, SHOW),
    (
        "are recorded for a disease that shows both {0} and {1}",
        "apply to some disorder combining {0} with {1}",
        "are given for a condition in which {0} and {1} occur together",
    ),
)

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
        ("Someone has {0}. Which of the reported {nouns} does a text explain with {1}?",),
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
    pairs=("{0} and {1}", "{0} and also {1}", "both {0} and {1}", "{0} and at the same time {1}"),
    triples=("{0}, {1} and {2}", "{0}, {1} and also {2}", "{0} and {1}, and besides {2}"),
    patterns=(*_DISEASES, *_GENES, *_PHENOTYPES, *_INHERITANCE),
    reuse={"inheritance": 60, "onset and course": 40, "medical history": 10},
    proper=frozenset({"down"}),
)

ALL_TEMPLATES: tuple[str, ...] = HPO.templates()
"""Every phrase, sentence and filled frame: the controller's rules may share no run with them."""
