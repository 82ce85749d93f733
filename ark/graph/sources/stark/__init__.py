"""STaRK's three graphs (Wu et al., 2024): fetched, read without trust, converted once."""

from ark.graph.sources.stark.names import BENCHMARKS
from ark.graph.sources.stark.source import AmazonSource, MagSource, PrimeSource, StarkSource

__all__ = ["BENCHMARKS", "AmazonSource", "MagSource", "PrimeSource", "StarkSource"]
