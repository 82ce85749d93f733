"""AF-Retriever after its description (arXiv 2505.09246): triples, joins, a widening scope."""
