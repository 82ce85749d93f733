"""Invented node records in STaRK's official shape that reach every branch of ``get_doc_info``."""
