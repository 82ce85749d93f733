"""Conditions that questions on the CWE graph are made of, with their phrases, all our own."""

from __future__ import annotations

from ark.queries.wording import Clause, Described, Named, Step

_NAMED, _DESCRIBED = Named(), Described()
_IMPACT = Step("has impact", "impact")
_SCOPE = Step("affects", "scope")
_ARISES = Step("introduced in", "phase")
_MITIGATED = Step("mitigated in", "phase")
_FOUND = Step("detected by", "detection method")
_LANGUAGE = Step("applies to", "language")
_TECHNOLOGY = Step("applies to", "technology")
_SYSTEM = Step("applies to", "operating system")
_CATEGORY = Step("has member", "category", out=False)
_VIEW = Step("has member", "view", out=False)
_MEMBER = Step("has member", "weakness")
_PARENT = Step("child of", "weakness")
_CHILD = Step("child of", "weakness", out=False)
_BEFORE = Step("can precede", "weakness")
_AFTER = Step("can precede", "weakness", out=False)
_CASE = Step("observed in", "vulnerability")
_EXAMPLE = Step("observed in", "weakness", out=False)
_BRINGS = Step("has impact", "weakness", out=False)
_REVEALS = Step("detected by", "weakness", out=False)

_KIND_OF_IMPACT = Named(r"^(?!Varies)")
_TONGUE = Named(r"^(?!Not |Interpreted|Compiled|Assembly|Hardware|XML)")
_FIELD = Named(r"^(?!Not )")

# --- what weaknesses do ----------------------------------------------------------------------
IMPACT = Clause(
    (_IMPACT,),
    _KIND_OF_IMPACT,
    (
        'can have the impact "{0}"',
        'list "{0}" among their impacts',
        'may have "{0}" as a consequence',
        'put one at risk of "{0}"',
    ),
)
THREATEN = Clause((_SCOPE,), _NAMED, ("threaten {0}", "affect {0}", "undermine {0}"))
ARISE = Clause(
    (_ARISES,),
    _NAMED,
    (
        "can arise in the {0} phase",
        "are introduced in the {0} phase",
        "slip in at the {0} stage",
    ),
)
COUNTER = Clause(
    (_MITIGATED,),
    _NAMED,
    (
        "can be countered in the {0} phase",
        "have a mitigation meant for the {0} phase",
        "are fought at the {0} stage",
    ),
)
FIND = Clause(
    (_FOUND,),
    _NAMED,
    (
        'can be detected by the method "{0}"',
        'are found by way of "{0}"',
        'list "{0}" as a detection method',
    ),
)
LANGUAGE = Clause(
    (_LANGUAGE,),
    _TONGUE,
    ("apply to the language {0}", "can occur in {0} code", "are relevant to {0} programmers"),
)
TECHNOLOGY = Clause(
    (_TECHNOLOGY,),
    _FIELD,
    ('apply to the technology "{0}"', 'concern technology of the kind "{0}"'),
)
SYSTEM = Clause((_SYSTEM,), _FIELD, ("apply to {0} systems", "are relevant under {0}"))
FILED = Clause(
    (_CATEGORY,),
    _NAMED,
    (
        'belong to the category "{0}"',
        'are filed under "{0}"',
        'are members of the category "{0}"',
        'stand in the category "{0}"',
    ),
)
FILED_DESCRIBED = Clause(
    (_CATEGORY,),
    _DESCRIBED,
    (
        "belong to a category whose summary mentions {0}",
        "are filed under some category described by way of {0}",
    ),
)
SEEN_IN_VIEW = Clause(
    (_VIEW,),
    _NAMED,
    ('are direct members of the view "{0}"', 'are named at the top level of the view "{0}"'),
)
BE_CHILD = Clause(
    (_PARENT,),
    _NAMED,
    (
        'are direct children of "{0}"',
        'are more specific kinds of "{0}"',
        'lie directly below "{0}" in the hierarchy',
    ),
)
BE_PARENT = Clause(
    (_CHILD,),
    _NAMED,
    ('are direct parents of "{0}"', 'are the more general kind behind "{0}"'),
)
BE_SIBLING = Clause(
    (_PARENT, _CHILD),
    _NAMED,
    ('share a parent with "{0}"', 'are siblings of "{0}" in the hierarchy'),
    others=True,
)
PRECEDE = Clause(
    (_BEFORE,),
    _NAMED,
    ('can precede "{0}"', 'can open the way for "{0}"', 'can come before "{0}" in a chain'),
)
FOLLOW = Clause(
    (_AFTER,),
    _NAMED,
    ('can follow "{0}"', 'can result from "{0}"', 'can come after "{0}" in a chain'),
)
SHARE_CASE = Clause(
    (_CASE, _EXAMPLE),
    _NAMED,
    (
        'were observed in the same vulnerability as "{0}"',
        'have an observed example in common with "{0}"',
    ),
    others=True,
)
BE_DESCRIBED = Clause(
    (),
    _DESCRIBED,
    (
        "are described by way of {0}",
        "have a description that mentions {0}",
        "are explained in terms of {0}",
        "come with a write-up that speaks of {0}",
    ),
)
BE_CHILD_DESCRIBED = Clause(
    (_PARENT,),
    _DESCRIBED,
    (
        "are direct children of a weakness whose description mentions {0}",
        "are more specific kinds of a flaw explained in terms of {0}",
        "lie directly below a weakness described by way of {0}",
    ),
)
BE_PARENT_DESCRIBED = Clause(
    (_CHILD,),
    _DESCRIBED,
    (
        "are direct parents of a weakness whose description mentions {0}",
        "lie directly above a flaw described by way of {0}",
    ),
)
PRECEDE_DESCRIBED = Clause(
    (_BEFORE,),
    _DESCRIBED,
    (
        "can precede a weakness whose description mentions {0}",
        "can open the way for a flaw described by way of {0}",
    ),
)
FOLLOW_DESCRIBED = Clause(
    (_AFTER,),
    _DESCRIBED,
    (
        "can follow a weakness whose description mentions {0}",
        "can result from a flaw explained in terms of {0}",
    ),
)

# --- what vulnerabilities do -----------------------------------------------------------------
ILLUSTRATE = Clause(
    (_EXAMPLE,),
    _NAMED,
    (
        'are observed examples of "{0}"',
        'illustrate "{0}"',
        'are known cases of "{0}"',
        'go back to "{0}"',
    ),
)
ILLUSTRATE_DESCRIBED = Clause(
    (_EXAMPLE,),
    _DESCRIBED,
    (
        "are observed examples of a weakness whose description mentions {0}",
        "illustrate a flaw explained in terms of {0}",
        "are known cases of a weakness described by way of {0}",
    ),
)
ILLUSTRATE_CHILD = Clause(
    (_EXAMPLE, _PARENT),
    _NAMED,
    (
        'are observed examples of a direct child of "{0}"',
        'illustrate some more specific kind of "{0}"',
    ),
)
ILLUSTRATE_FILED = Clause(
    (_EXAMPLE, _CATEGORY),
    _NAMED,
    (
        'are observed examples of a weakness in the category "{0}"',
        'illustrate some flaw filed under "{0}"',
    ),
)


def _case_of_one_that(leaves: tuple[Clause, ...], *phrases: str) -> Clause:
    return Clause((_EXAMPLE,), leaves, phrases)


ILLUSTRATE_IMPACT_DESCRIBED = _case_of_one_that(
    (IMPACT, BE_CHILD_DESCRIBED),
    'are known cases of a weakness that can have the impact "{0}" and is a direct child of one '
    "whose description mentions {1}",
    'illustrate a flaw with the impact "{0}" that lies directly below one described by way of {1}',
)
ILLUSTRATE_LANGUAGE_IMPACT = _case_of_one_that(
    (LANGUAGE, IMPACT),
    'are observed examples of a weakness that applies to {0} and can have the impact "{1}"',
    'illustrate a flaw of {0} code with the impact "{1}"',
)
TELL = Clause(
    (),
    _DESCRIBED,
    (
        "have a summary that mentions {0}",
        "are reported in terms of {0}",
        "are described by way of {0}",
    ),
)

# --- what categories do ----------------------------------------------------------------------
CONTAIN = Clause(
    (_MEMBER,),
    _NAMED,
    ('contain "{0}"', 'have "{0}" as a member', 'include "{0}" directly'),
)
CONTAIN_DESCRIBED = Clause(
    (_MEMBER,),
    _DESCRIBED,
    (
        "contain a weakness whose description mentions {0}",
        "include a flaw explained in terms of {0}",
        "have a member described by way of {0}",
    ),
)
CONTAIN_CHILD = Clause(
    (_MEMBER, _PARENT),
    _NAMED,
    ('contain a direct child of "{0}"', 'include some more specific kind of "{0}"'),
)
CONTAIN_LANGUAGE = Clause(
    (_MEMBER, _LANGUAGE),
    _TONGUE,
    ("contain a weakness that applies to {0}", "include some flaw of {0} code"),
)
IN_VIEW = Clause((_VIEW,), _NAMED, ('belong to the view "{0}"', 'are part of the view "{0}"'))

# --- what impacts and detection methods do ---------------------------------------------------
COME_OF = Clause(
    (_BRINGS,),
    _NAMED,
    ('are listed for "{0}"', 'can come of "{0}"', 'are a known result of "{0}"'),
)
COME_OF_DESCRIBED = Clause(
    (_BRINGS,),
    _DESCRIBED,
    (
        "are listed for a weakness whose description mentions {0}",
        "can come of a flaw explained in terms of {0}",
    ),
)
COME_OF_CHILD = Clause(
    (_BRINGS, _PARENT),
    _NAMED,
    ('are listed for a direct child of "{0}"', 'can come of some more specific kind of "{0}"'),
)
REVEAL = Clause(
    (_REVEALS,),
    _NAMED,
    ('can reveal "{0}"', 'are listed for detecting "{0}"', 'help to find "{0}"'),
)
REVEAL_DESCRIBED = Clause(
    (_REVEALS,),
    _DESCRIBED,
    (
        "can reveal a weakness whose description mentions {0}",
        "help to find a flaw explained in terms of {0}",
    ),
)
REVEAL_CHILD = Clause(
    (_REVEALS, _PARENT),
    _NAMED,
    ('can reveal a direct child of "{0}"', 'help to find some more specific kind of "{0}"'),
)
