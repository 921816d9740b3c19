"""Where recipe, plug-ins, engine and store meet: audit, curate, ask."""

from gristmill.pipeline.curating import Curation
from gristmill.pipeline.project import Project

__all__ = ["Curation", "Project"]
