"""Whether the text of a task says that something is taken hold of.

A rule of words, not of language: it asks for a verb of grasping or carrying, for something that is not the robot
itself, and for no "not" before it. English only; other texts claim nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CLAUSES = re.compile(r"[,;.:!?\n]|\b(?:and|then|but|while|before|after)\b")
# What follows is not to be done: "push it without grasping it" ends at "without".
_NOT = re.compile(r"\b(?:not|never|without|avoid(?:ing)?|instead of|rather than|cannot|fails? to)\b|n't\b|n\u2019t\b")

# Verbs that claim a grasp wherever they stand, and verbs that do so as an instruction, where they begin a clause.
# Pushing, pressing, opening, wiping and reaching claim none.
_GRASPS = re.compile(r"\b(?:pick|grasp|grab|grip|pinch)(?:s|e[sd]|p?ed|b?ed|p?ing|b?ing)?\b")
_ORDERS = re.compile(
    r"^\W*(?:(?:please|now|next|first|finally|carefully|slowly|gently|to)\s+)*"
    r"(?:lift|raise|put|place|take|hold|carry|insert|stack|fetch|pour)\b(.*)"
)

# Where the object of a verb ends, and words that say where or how, not what.
_ENDS = re.compile(
    r"\b(?:in|on|onto|into|to|at|from|over|above|below|under|with|near|beside|behind|between|against|towards?|through"
    r"|of|by|for|until|like|as|so)\b|\d"
)
_HOW = re.compile(
    r"^(?:up|down|out|off|away|back|forwards?|backwards?|sideways|left|right|high|higher|low|lower|again|together|apart"
    r"|straight|overhead|slightly|slowly|carefully|gently|upwards?|downwards?|\w+ly)$"
)
# The robot's own body; and what one takes or holds without a hand.
_BODY = re.compile(
    r"^(?:arm|hand|finger|thumb|fist|palm|wrist|elbow|shoulder|head|leg|foot|feet|knee|torso|waist|gripper|body)s?$"
)
_NOTHING = re.compile(
    r"^(?:still|steady|steps?|poses?|positions?|posture|place|bow|turns?|look|break|rest|seat|photo|picture|balance|breath"
    r"|order|course|time|care|aim)$"
)


@lru_cache(maxsize=4096)
def claims_grasp(text: str) -> bool:
    """Whether a task's text says that something is taken hold of."""
    return any(_claims(_NOT.split(clause, maxsplit=1)[0]) for clause in _CLAUSES.split(text.casefold()))


def _claims(clause: str) -> bool:
    if _GRASPS.search(clause):
        return True
    order = _ORDERS.match(clause)
    if order is None:
        return False
    words = re.findall(r"[^\W\d_]+", _ENDS.split(order[1], maxsplit=1)[0])
    while words and _HOW.match(words[-1]):
        words.pop()
    # The last word is what the others describe: "the hand towel" is a towel, "your left arm" an arm.
    return not words or not (_BODY.match(words[-1]) or _NOTHING.match(words[-1]))
