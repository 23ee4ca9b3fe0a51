"""Everything the engine does at a later time: timers, clock moves, schedules, retention, creation rates."""
