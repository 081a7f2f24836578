"""Exact model selection: held-out predictions of every split from one factor per kernel and alpha."""
