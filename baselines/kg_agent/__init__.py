"""KG-Agent (arXiv 2402.11163): a planner writes a program over sets of nodes, one call a step.

Built from a description of the paper and of the authors' code; ``docs/methods/kg_agent.md`` says
what follows which, and what is ours.
"""
