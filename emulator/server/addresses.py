"""Addresses and names of this machine."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine alone."""
    if is_local_name(host):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_local_name(host: str) -> bool:
    """Whether browsers take the name for this machine, whatever a name server says."""
    return host == "localhost" or host.endswith(".localhost")
