"""Parts of ``scripts/bench_stark.py``: synthetic graphs, what is measured, the peer's side."""
