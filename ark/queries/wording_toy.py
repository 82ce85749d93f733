"""Wording pack for the toy graph (``toy``): a handful of questions to try the harness with."""

from __future__ import annotations

from ark.queries.wording import Clause, Described, Named, Pattern, Step, Wording

_NAMED, _DESCRIBED = Named(), Described()
_GROWS = Step("grows in", "habitat")
_HOLDS = Step("grows in", "plant", out=False)
_VISITS = Step("visits", "plant")
_VISITED = Step("visits", "insect", out=False)
_LIVES = Step("lives in", "habitat")
_SHELTERS = Step("lives in", "insect", out=False)

GROW = Clause((_GROWS,), _NAMED, ("grow in {0}", "thrive in {0}"))
BE_VISITED = Clause((_VISITED,), _NAMED, ("are visited by {0}", "attract {0}"))
BE_VISITED_DESCRIBED = Clause(
    (_VISITED,), _DESCRIBED, ("are visited by some insect described by way of {0}",)
)
BE_NEAR = Clause((_VISITED, _LIVES), _NAMED, ("are visited by an insect that lives in {0}",))
LOOK = Clause((), _DESCRIBED, ("are described by way of {0}", "are told of with {0}"))

VISIT = Clause((_VISITS,), _NAMED, ("visit {0}", "come to {0}"))
VISIT_DESCRIBED = Clause((_VISITS,), _DESCRIBED, ("visit a plant described by way of {0}",))
VISIT_AT = Clause((_VISITS, _GROWS), _NAMED, ("visit a plant of {0}", "come to a plant of {0}"))
LIVE = Clause((_LIVES,), _NAMED, ("live in {0}", "have a home in {0}"))

HOLD = Clause((_HOLDS,), _NAMED, ("let {0} grow", "have {0} growing in them"))
HOLD_DESCRIBED = Clause((_HOLDS,), _DESCRIBED, ("hold a plant described by way of {0}",))
SHELTER = Clause((_SHELTERS,), _NAMED, ("shelter {0}", "are home to {0}"))
SUPPLY = Clause((_HOLDS, _VISITED), _NAMED, ("hold a plant that {0} visits",))

TOY = Wording(
    graph="toy",
    version="1",
    shares={"plant": 4, "insect": 4, "habitat": 4},
    nouns={"plant": ("plants",), "insect": ("insects",), "habitat": ("habitats", "places")},
    frames=("Which {nouns} {what}?", "Name the {nouns} that {what}."),
    pairs=("{0} and {1}", "{0} and also {1}"),
    triples=("{0}, {1} and {2}",),
    patterns=(
        Pattern("plant: habitat", "plant", (GROW,)),
        Pattern("plant: habitat, described", "plant", (GROW, LOOK)),
        Pattern("plant: insect", "plant", (BE_VISITED,)),
        Pattern("plant: insect, habitat", "plant", (BE_VISITED, GROW)),
        Pattern("plant: insect's habitat", "plant", (BE_NEAR,)),
        Pattern("plant: described insect", "plant", (BE_VISITED_DESCRIBED,)),
        Pattern("insect: plant", "insect", (VISIT,)),
        Pattern("insect: plant's habitat", "insect", (VISIT_AT,)),
        Pattern("insect: plant's habitat, home", "insect", (VISIT_AT, LIVE)),
        Pattern("insect: described plant", "insect", (VISIT_DESCRIBED,)),
        Pattern("habitat: plant", "habitat", (HOLD,)),
        Pattern("habitat: insect", "habitat", (SHELTER,)),
        Pattern("habitat: plant, insect", "habitat", (HOLD, SHELTER)),
        Pattern("habitat: insect at a plant", "habitat", (SUPPLY,)),
        Pattern("habitat: described plant", "habitat", (HOLD_DESCRIBED,)),
    ),
    usual_reuse=6,
    count=30,
)

ALL_TEMPLATES: tuple[str, ...] = TOY.templates()
