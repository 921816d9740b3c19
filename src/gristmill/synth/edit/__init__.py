"""Changing single episodes of a LeRobot corpus in its bytes, with everything around them kept true."""
