"""Methods to compare with: each file is one ``Method``."""
