"""Proofs: for one purpose, of one run, once."""

from __future__ import annotations

import pytest

from stepwell.emulator.worker.workerd.run_key import RunKey


def test_a_proof_is_accepted_by_who_holds_the_same_token() -> None:
    assert RunKey("t").accepts("call", RunKey("t").proof("call"))


def test_a_proof_of_another_run_is_not_accepted() -> None:
    assert not RunKey("t").accepts("call", RunKey("other").proof("call"))


def test_a_proof_is_not_accepted_twice() -> None:
    key, proof = RunKey("t"), RunKey("t").proof("call")
    key.accepts("call", proof)

    assert not key.accepts("call", proof)


def test_a_proof_is_not_accepted_for_another_purpose() -> None:
    assert not RunKey("t").accepts("runs", RunKey("t").proof("call"))


def test_a_proof_does_not_hold_the_token() -> None:
    assert "token-of-the-run" not in RunKey("token-of-the-run").proof("error")


@pytest.mark.parametrize("proof", ["", ".", "a.b", "é.é", "a.b.c"])
def test_anything_else_is_not_accepted(proof: str) -> None:
    assert not RunKey("t").accepts("call", proof)
