"""Drafts of embodiment cards: what a corpus's numbers look like, guesses with their reasons, and the card as TOML."""

from __future__ import annotations

from gristmill.drafting.draft import draft

__all__ = ["draft"]
