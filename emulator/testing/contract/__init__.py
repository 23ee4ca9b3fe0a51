"""The contract runner: drives the contract cases against an engine and reports the differences."""
