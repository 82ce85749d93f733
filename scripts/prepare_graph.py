"""Build a graph once, ahead of any run, and export it as plain files if wanted.

python scripts/prepare_graph.py graph=NAME [setting=value ...] [--export files OUT]

The settings are those of run.py's graph.*, with or without that prefix: graph=prime root=DIR.
Prints counts and the folder of the built graph. --export files OUT writes the graph into the new
folder OUT as docs/graphs/files.md describes, to be read with graph=files graph.path=OUT. Exit code
2 for a mistake in the command or the data.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ark.errors import ArkError, UserError
from ark.graph import KnowledgeGraph, data_root, open_or_build, source_for
from ark.run import GraphSpec

DONE, USER_ERROR = 0, 2


def graph_spec(settings: Sequence[str]) -> GraphSpec:
    """The graph that run.py would make of the settings. UserError for unknown ones."""
    from ark.cli.compose import compose_one

    if not any(s.startswith("graph=") for s in settings):
        raise UserError("say which graph: graph=NAME")
    plain = [s if s.startswith(("graph=", "graph.")) else f"graph.{s}" for s in settings]
    return compose_one(plain).spec.graph


def counts(graph: KnowledgeGraph) -> list[str]:
    """Lines with nodes by type and edges by relation."""
    schema = graph.schema
    lines = [f"{graph.n_nodes:,} nodes"]
    lines += [f"  {row['count']:>12,} {row['name']}" for row in schema["types"]]
    lines.append(f"{graph.n_edges:,} edges")
    lines += [f"  {row['count']:>12,} {row['name']}" for row in schema["relations"]]
    return lines


def prepare(spec: GraphSpec, out: Path | None) -> None:
    """Build, print, export."""
    graph = open_or_build(source_for(spec.source, **spec.settings), data_root())
    print("\n".join(counts(graph)))
    print(f"content hash: {graph.content_hash}")
    print(f"graph: {graph.path}")
    if out is None:
        return
    from ark.graph.export import export_files

    folder = export_files(graph, out, spec.candidate_types)
    types = ""
    if spec.candidate_types is not None:
        types = f" graph.candidate_types=[{','.join(spec.candidate_types)}]"
    print(f"exported: {folder}")
    print(f"read with: {shlex.join(['graph=files', f'graph.path={folder}'])}{types}")


def main() -> int:
    """Parse, prepare, return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", nargs="+", metavar="setting=value")
    parser.add_argument("--export", nargs=2, metavar=("files", "OUT"))
    options = parser.parse_intermixed_args()
    try:
        out = None
        if options.export:
            form, folder = options.export
            if form != "files":
                raise UserError(f"--export {form}: the one form is files: --export files OUT")
            out = Path(folder)
            if out.expanduser().exists():  # before minutes are spent on building
                raise UserError(f"{out} exists already: delete it or choose another folder")
        prepare(graph_spec(options.settings), out)
    except ArkError as error:
        sys.stderr.write(f"error: {error}\n")
        return USER_ERROR
    return DONE


if __name__ == "__main__":
    sys.exit(main())
