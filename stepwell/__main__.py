"""`python -m stepwell`: the same as the command `stepwell`."""

from stepwell.emulator.cli.main import main

main(prog_name="stepwell")
