"""Wording pack for the Common Weakness Enumeration graph (``cwe``). All phrases are our own.

The text-heavy pack: three questions in four hold a condition on text, mostly on that of weaknesses.
A vulnerability is an answer only: its name is a number, which would find it by itself.
"""

from __future__ import annotations

from ark.queries.cwe_clauses import (
    ARISE,
    BE_CHILD,
    BE_CHILD_DESCRIBED,
    BE_DESCRIBED,
    BE_PARENT,
    BE_PARENT_DESCRIBED,
    BE_SIBLING,
    COME_OF,
    COME_OF_CHILD,
    COME_OF_DESCRIBED,
    CONTAIN,
    CONTAIN_CHILD,
    CONTAIN_DESCRIBED,
    CONTAIN_LANGUAGE,
    COUNTER,
    FILED,
    FILED_DESCRIBED,
    FIND,
    FOLLOW,
    FOLLOW_DESCRIBED,
    ILLUSTRATE,
    ILLUSTRATE_CHILD,
    ILLUSTRATE_DESCRIBED,
    ILLUSTRATE_FILED,
    ILLUSTRATE_IMPACT_DESCRIBED,
    ILLUSTRATE_LANGUAGE_IMPACT,
    IMPACT,
    IN_VIEW,
    LANGUAGE,
    PRECEDE,
    PRECEDE_DESCRIBED,
    REVEAL,
    REVEAL_CHILD,
    REVEAL_DESCRIBED,
    SEEN_IN_VIEW,
    SHARE_CASE,
    SYSTEM,
    TECHNOLOGY,
    TELL,
    THREATEN,
)
from ark.queries.wording import Pattern, Taste, Wording

_WEAKNESSES = (
    Pattern(
        "weakness: impact, described",
        "weakness",
        (IMPACT, BE_DESCRIBED),
        4,
        (),
        ('The talk is of {1}, and the damage was "{0}". Which {nouns} might be behind it?',),
    ),
    Pattern("weakness: scope, described", "weakness", (THREATEN, BE_DESCRIBED), 2),
    Pattern("weakness: phase, described", "weakness", (ARISE, BE_DESCRIBED), 2),
    Pattern("weakness: mitigation phase, described", "weakness", (COUNTER, BE_DESCRIBED), 2),
    Pattern("weakness: detection, described", "weakness", (FIND, BE_DESCRIBED), 3),
    Pattern("weakness: language, described", "weakness", (LANGUAGE, BE_DESCRIBED), 2),
    Pattern("weakness: technology, described", "weakness", (TECHNOLOGY, BE_DESCRIBED), 2),
    Pattern("weakness: system, described", "weakness", (SYSTEM, BE_DESCRIBED), 1),
    Pattern(
        "weakness: category, described",
        "weakness",
        (FILED, BE_DESCRIBED),
        8,
        (),
        ('In the category "{0}", which {nouns} have to do with {1}?',),
    ),
    Pattern("weakness: view, described", "weakness", (SEEN_IN_VIEW, BE_DESCRIBED), 2),
    Pattern("weakness: parent, described", "weakness", (BE_CHILD, BE_DESCRIBED), 11),
    Pattern("weakness: sibling, described", "weakness", (BE_SIBLING, BE_DESCRIBED), 11),
    Pattern("weakness: shared case, described", "weakness", (SHARE_CASE, BE_DESCRIBED), 5),
    Pattern("weakness: described parent", "weakness", (BE_CHILD_DESCRIBED,), 4),
    Pattern("weakness: impact, described parent", "weakness", (IMPACT, BE_CHILD_DESCRIBED), 5),
    Pattern("weakness: phase, described parent", "weakness", (ARISE, BE_CHILD_DESCRIBED), 3),
    Pattern("weakness: category, described parent", "weakness", (FILED, BE_CHILD_DESCRIBED), 6),
    Pattern(
        "weakness: described, described parent", "weakness", (BE_DESCRIBED, BE_CHILD_DESCRIBED), 5
    ),
    Pattern("weakness: described category", "weakness", (FILED_DESCRIBED, BE_DESCRIBED), 3),
    Pattern("weakness: described child", "weakness", (BE_PARENT_DESCRIBED,), 3),
    Pattern("weakness: before a described one", "weakness", (PRECEDE_DESCRIBED,), 2),
    Pattern("weakness: after a described one", "weakness", (FOLLOW_DESCRIBED,), 2),
    Pattern("weakness: impact, after a described one", "weakness", (IMPACT, FOLLOW_DESCRIBED), 1),
    Pattern(
        "weakness: impact, phase, described parent",
        "weakness",
        (IMPACT, ARISE, BE_CHILD_DESCRIBED),
        3,
    ),
    Pattern("weakness: category, impact", "weakness", (FILED, IMPACT), 4),
    Pattern("weakness: category, detection", "weakness", (FILED, FIND), 2),
    Pattern("weakness: parent, impact", "weakness", (BE_CHILD, IMPACT), 3),
    Pattern("weakness: parent, category", "weakness", (BE_CHILD, FILED), 3),
    Pattern("weakness: shared case", "weakness", (SHARE_CASE,), 1),
    Pattern("weakness: shared case, phase", "weakness", (SHARE_CASE, ARISE), 2),
    Pattern("weakness: before", "weakness", (PRECEDE,), 1),
    Pattern("weakness: after", "weakness", (FOLLOW,), 1),
    Pattern("weakness: child", "weakness", (BE_PARENT,), 1),
    Pattern("weakness: language, impact, detection", "weakness", (LANGUAGE, IMPACT, FIND), 2),
)
_VULNERABILITIES = (
    Pattern(
        "vulnerability: weakness, described",
        "vulnerability",
        (ILLUSTRATE, TELL),
        8,
        (),
        ('The report speaks of {1}. Which {nouns} of this kind go back to "{0}"?',),
    ),
    Pattern("vulnerability: described weakness", "vulnerability", (ILLUSTRATE_DESCRIBED,), 6),
    Pattern(
        "vulnerability: described weakness, described",
        "vulnerability",
        (ILLUSTRATE_DESCRIBED, TELL),
        5,
    ),
    Pattern(
        "vulnerability: weakness, described weakness",
        "vulnerability",
        (ILLUSTRATE, ILLUSTRATE_DESCRIBED),
        4,
    ),
    Pattern("vulnerability: parent, described", "vulnerability", (ILLUSTRATE_CHILD, TELL), 5),
    Pattern("vulnerability: category, described", "vulnerability", (ILLUSTRATE_FILED, TELL), 5),
    Pattern(
        "vulnerability: impact, described parent",
        "vulnerability",
        (ILLUSTRATE_IMPACT_DESCRIBED,),
        4,
    ),
    Pattern(
        "vulnerability: two weaknesses",
        "vulnerability",
        (ILLUSTRATE, ILLUSTRATE),
        4,
        ('are observed examples of both "{0}" and "{1}"', 'combine "{0}" with "{1}"'),
    ),
    Pattern("vulnerability: weakness", "vulnerability", (ILLUSTRATE,), 2),
    Pattern("vulnerability: language, impact", "vulnerability", (ILLUSTRATE_LANGUAGE_IMPACT,), 2),
)
_CATEGORIES = (
    Pattern("category: described member", "category", (CONTAIN_DESCRIBED,), 5),
    Pattern(
        "category: two described members",
        "category",
        (CONTAIN_DESCRIBED, CONTAIN_DESCRIBED),
        4,
        (
            "contain one weakness whose description mentions {0} and another whose description "
            "mentions {1}",
        ),
    ),
    Pattern("category: member, described member", "category", (CONTAIN, CONTAIN_DESCRIBED), 6),
    Pattern("category: view, described member", "category", (IN_VIEW, CONTAIN_DESCRIBED), 4),
    Pattern(
        "category: two members",
        "category",
        (CONTAIN, CONTAIN),
        4,
        ('contain both "{0}" and "{1}"', 'hold "{0}" together with "{1}"'),
        ('Where do "{0}" and "{1}" stand side by side? Name the {nouns}.',),
    ),
    Pattern("category: view, member", "category", (IN_VIEW, CONTAIN), 2),
    Pattern("category: child of a weakness, member", "category", (CONTAIN_CHILD, CONTAIN), 3),
    Pattern("category: language, member", "category", (CONTAIN_LANGUAGE, CONTAIN), 2),
)
_IMPACTS = (
    Pattern("impact: described weakness", "impact", (COME_OF_DESCRIBED,), 5),
    Pattern("impact: weakness, described weakness", "impact", (COME_OF, COME_OF_DESCRIBED), 5),
    Pattern("impact: two weaknesses", "impact", (COME_OF, COME_OF), 3),
    Pattern("impact: weakness, child of a weakness", "impact", (COME_OF, COME_OF_CHILD), 2),
)
_METHODS = (
    Pattern("method: described weakness", "detection method", (REVEAL_DESCRIBED,), 5),
    Pattern("method: weakness, described", "detection method", (REVEAL, REVEAL_DESCRIBED), 5),
    Pattern("method: two weaknesses", "detection method", (REVEAL, REVEAL), 3),
    Pattern("method: weakness, child", "detection method", (REVEAL, REVEAL_CHILD), 2),
)

CWE = Wording(
    graph="cwe",
    version="1",
    shares={
        "weakness": 60,
        "vulnerability": 18,
        "category": 12,
        "impact": 5,
        "detection method": 5,
    },
    nouns={
        "weakness": ("weaknesses", "security weaknesses", "flaws"),
        "vulnerability": ("vulnerabilities", "reported vulnerabilities", "CVE records"),
        "category": ("categories", "weakness categories"),
        "impact": ("impacts", "technical impacts"),
        "detection method": ("detection methods", "methods of detection"),
    },
    frames=(
        "Which {nouns} {what}?",
        "List the {nouns} that {what}.",
        "What are the {nouns} that {what}?",
        "I need the {nouns} that {what}.",
        "Give me all {nouns} that {what}.",
        "Could you name the {nouns} that {what}?",
        "During a review I came to wonder which {nouns} {what}.",
    ),
    pairs=(
        "{0} and {1}",
        "{0} and also {1}",
        "not only {0} but also {1}",
        "{0} and at the same time {1}",
    ),
    triples=("{0}, {1} and {2}", "{0}, {1} and also {2}", "{0} and {1}, and besides {2}"),
    patterns=(*_WEAKNESSES, *_VULNERABILITIES, *_CATEGORIES, *_IMPACTS, *_METHODS),
    reuse={
        "impact": 40,
        "scope": 30,
        "phase": 40,
        "language": 25,
        "technology": 12,
        "operating system": 12,
        "detection method": 25,
        "view": 10,
        "category": 4,
        "weakness": 4,
    },
    titles=frozenset(
        {
            *("weakness", "category", "view", "impact", "detection method"),
            *("language", "technology", "operating system"),
        }
    ),
    small=frozenset({"scope", "phase"}),
    synonyms=1,
    # In these texts half of the fitting nouns stand before another noun ("password file").
    taste=Taste(commonest=0.03, closes=45, opens=8, vague="vague_words_cwe"),
)

ALL_TEMPLATES: tuple[str, ...] = CWE.templates()
"""Every phrase, sentence and filled frame: the controller's rules may share no run with them."""
