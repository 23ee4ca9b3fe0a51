"""The JavaScript half of the value codec, held to the vectors that the Python half is held to."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parent / "unit" / "bindings" / "values" / "vectors.json"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(["node", HERE / script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_vector_is_read_and_written_again_as_it_was() -> None:
    vectors = json.loads(VECTORS.read_text())
    texts = {vector["name"]: vector["text"] for vector in vectors if vector.get("canonical_js", True)}

    answers = {answer["name"]: answer.get("text") for answer in json.loads(_run("codec_check.mjs", str(VECTORS)))}

    assert {name: answers[name] for name in texts} == texts


def test_vectors_that_python_writes_otherwise_are_read_too() -> None:
    answers = json.loads(_run("codec_check.mjs", str(VECTORS)))

    assert [answer for answer in answers if "error" in answer] == []


def test_values_of_javascript_have_the_texts_that_the_format_says() -> None:
    assert _run("values_check.mjs") == "ok"


def test_errors_are_told_and_made_again_as_rpc_does() -> None:
    assert _run("errors_check.mjs") == "ok"
