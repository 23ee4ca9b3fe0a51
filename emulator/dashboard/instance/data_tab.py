"""The reader of the Data tab: what a run was given and what it returned."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.values.view import ValueView, value_view
from stepwell.emulator.storage.records import InstanceValues
from stepwell.emulator.storage.view_records import Sizes


@dataclass(frozen=True, slots=True)
class DataTab:
    """`absent` says why there is no output."""

    params: ValueView
    output: ValueView
    absent: str


def read_data(context: RunContext, values: InstanceValues, sizes: Sizes) -> DataTab:
    address = context.address
    return DataTab(
        params=value_view("params", values.params, address.value("params"), sizes.params),
        output=value_view("output", values.output, address.value("output"), sizes.output),
        absent="No output" if context.row.ended_at is not None else "No output yet",
    )
