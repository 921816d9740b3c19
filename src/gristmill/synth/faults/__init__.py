"""Faults as real recordings have them, each planted with its ground truth."""
