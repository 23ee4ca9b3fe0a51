"""Which reader a language has."""

from __future__ import annotations

from stepwell.emulator.analysis.nodes import Node
from stepwell.emulator.analysis.python import python_graph


def workflow_graph(language: str, source: str | None, class_name: str) -> Node | None:
    """The graph of a class. None without a source, the class or a parser."""
    if source is None:
        return None
    if language == "python":
        return python_graph(source, class_name)
    from stepwell.emulator.analysis.javascript import javascript_graph  # its parser is loaded when it is needed

    return javascript_graph(source, class_name)
