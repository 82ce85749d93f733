"""Think-on-Graph: a model walks the graph with a beam (arXiv 2307.07697); docs/methods/tog.md."""
