"""How small a difference a number of questions can show."""

from __future__ import annotations

import math
from statistics import NormalDist


def smallest_difference(
    n: int,
    *,
    design_effect: float = 1.0,
    discordant: float = 0.2,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """Smallest difference of two paired rates that ``n`` questions show with this ``power``.

    Solves n = (z_a sqrt(d) + z_b sqrt(d - x^2))^2 / x^2 for the difference x (Miettinen 1968;
    Connor 1987, Biometrics 43:207): ``discordant`` d is the share of questions where just one of
    the two methods is right, z_a and z_b the normal quantiles of 1 - alpha/2 and ``power``, and n
    is taken over the design effect. No difference exceeds d: where d is too rare for so few
    questions, the answer is the least d that would do if one method won all of them. ``math.inf``
    where even a difference of 1 would not show (n over the design effect below z_a^2, 3.84). It
    is the normal approximation; the exact test needs up to a tenth more questions.

    Raises ValueError for n < 0, design_effect < 1, discordant or alpha outside (0, 1], or power
    outside [0.5, 1).
    """
    if n < 0 or not design_effect >= 1 or not math.isfinite(design_effect):
        raise ValueError(f"n={n} must be at least 0 and design_effect={design_effect} at least 1")
    if not 0 < discordant <= 1 or not 0 < alpha < 1 or not 0.5 <= power < 1:
        raise ValueError(
            f"discordant={discordant} and alpha={alpha} must be in (0, 1), power={power} in [.5, 1)"
        )
    size = n / design_effect
    z_a, z_b = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    if size < z_a * z_a:
        return math.inf
    found = _difference(size, discordant, z_a, z_b)
    return found if found <= discordant else _one_sided(size, z_a, z_b)


def _difference(size: float, d: float, z_a: float, z_b: float) -> float:
    """The larger root of (size + z_b^2) x^2 - 2 sqrt(size d) z_a x + (z_a^2 - z_b^2) d = 0."""
    root = z_b * math.sqrt(d * (size + z_b * z_b - z_a * z_a))
    return (z_a * math.sqrt(size * d) + root) / (size + z_b * z_b)


def _one_sided(size: float, z_a: float, z_b: float) -> float:
    """Bisection for x = d, where sqrt(size x) - z_b sqrt(1 - x) = z_a; the left side rises."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if math.sqrt(size * middle) - z_b * math.sqrt(1 - middle) < z_a:
            low = middle
        else:
            high = middle
    return high
