"""Plug-ins: one question a file, measured on one episode and judged over the corpus."""
