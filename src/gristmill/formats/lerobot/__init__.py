"""The LeRobot dataset format, versions 2.0, 2.1 and 3.0: read as found, written as v3.0."""
