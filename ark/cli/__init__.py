"""The command line: composing cells from configs, experiments, what is printed."""
