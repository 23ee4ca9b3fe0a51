"""`python -m tests.docs --write` puts the tables of the code into the documentation."""

from __future__ import annotations

import sys

from tests.docs.tables import TABLES, filled

if sys.argv[1:] != ["--write"]:
    sys.exit(__doc__)
for name, (path, table) in TABLES.items():
    path.write_text(filled(path.read_text(encoding="utf-8"), name, table()), encoding="utf-8")
