"""The reader of the checks: an instance against Cloudflare's limits and rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from stepwell.emulator.dashboard.instance.advice import Advice, advise
from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.outline import is_notable
from stepwell.emulator.storage.view_records import Sizes

#: Steps that are checked one by one at each end of a long run, and the open and failed ones between.
_AT_EACH_END: Final = 100
_NOTABLE: Final = 60


def read_checks(context: RunContext, sizes: Sizes, outside: Sequence[tuple[str, int]]) -> tuple[Advice, ...]:
    """`outside` are nondeterministic calls outside steps, with their lines."""
    steps, key = context.outline.steps, context.key
    shown = {step.seq for step in (*steps[:_AT_EACH_END], *steps[-_AT_EACH_END:])}
    shown.update([step.seq for step in steps if is_notable(step)][-_NOTABLE:])
    seqs = sorted(shown)
    return advise(
        context.row,
        context.reader.steps_of(key, seqs),
        context.reader.sizes_of(key, seqs),
        params_bytes=sizes.params,
        output_bytes=sizes.output,
        outside=outside,
        names=Counter((step.kind, step.name) for step in steps),
    )
