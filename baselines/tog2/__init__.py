"""Think-on-Graph 2.0: a walk in which text ranks entities and entities choose the text."""
