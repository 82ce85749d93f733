"""Conditions that questions on the HPO graph are made of, with their phrases, all our own."""

from __future__ import annotations

from ark.queries.wording import Clause, Described, Named, Step

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
    "have a tie to a condition with one feature explained in terms of {0} and another explained in "
    "terms of {1}",
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
