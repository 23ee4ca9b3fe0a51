"""How Stepwell and the runtime of a run prove to each other who they are, without sending what proves it.

Both hold the run's token: it is in the generated configuration, and user code does not see it. What they send is a
proof: a new nonce, and the nonce signed with the token for one purpose. Whoever reads a proof, in a log or in an
answer, can do nothing with it: it was for that purpose and counts once. `bindings/javascript/run_key.mjs` is the
runtime's side.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Final, Literal, TypeAlias

#: What a proof is for: a call of a binding, a socket for passes, an answer that describes an error, a request that
#: is passed on to a Python Worker, a call of a binding by Python.
Purpose: TypeAlias = Literal["call", "runs", "error", "forward", "use"]

#: Used nonces that are remembered for each purpose.
_REMEMBERED: Final = 20_000


class RunKey:
    """Makes and checks the proofs of one run. A purpose's proofs are to be checked on one thread."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._used: dict[str, dict[str, None]] = {}

    def proof(self, purpose: Purpose) -> str:
        """A new proof, in characters that a header can carry."""
        nonce = secrets.token_hex(16)
        return f"{nonce}.{self._signed(purpose, nonce)}"

    def accepts(self, purpose: Purpose, proof: str) -> bool:
        """Whether the proof is of this run and for this purpose, and was not used before."""
        nonce, _, signature = proof.partition(".")
        used = self._used.setdefault(purpose, {})
        expected = self._signed(purpose, nonce).encode()
        if nonce in used or not hmac.compare_digest(signature.encode(errors="replace"), expected):
            return False
        used[nonce] = None
        if len(used) > _REMEMBERED:
            del used[next(iter(used))]
        return True

    def _signed(self, purpose: str, text: str) -> str:
        return hmac.digest(self._token, f"{purpose}:{text}".encode(errors="replace"), "sha256").hex()
