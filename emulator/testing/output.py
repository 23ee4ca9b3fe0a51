"""What user code prints in a test: part of the test's output, tagged with its instance and step."""

from __future__ import annotations

import logging
import sys

from stepwell.emulator.worker.console import ConsoleLine


def print_tagged(line: ConsoleLine) -> None:
    """Print a line of user code with the instance and the step it comes from."""
    where = " ".join(part for part in (line.instance_id, line.step) if part)
    tag = f"[{where}] " if where else ""
    print(f"{tag}{line.text}", file=sys.stderr if line.level > logging.INFO else sys.stdout)
