"""Inference from one factor: tests, sets with a guarantee, effects with errors, and what one row changes."""
