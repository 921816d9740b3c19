"""Commands that write no page do not pay for one."""

from __future__ import annotations

import subprocess
import sys


def test_describing_a_curation_loads_no_template_engine() -> None:
    code = "import sys; from gristmill.report import Curation; print('jinja2' in sys.modules, 'av' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
