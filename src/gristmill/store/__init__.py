"""Stage tables and what belongs to them, kept between runs (see docs/design/store.md)."""

from gristmill.store.gc import Removal
from gristmill.store.pending import Pending
from gristmill.store.store import Store
from gristmill.store.waivers import Waiver

__all__ = ["Pending", "Removal", "Store", "Waiver"]
