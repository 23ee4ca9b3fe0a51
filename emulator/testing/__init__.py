"""Testing: the contract runner, and what users test their own workflows with."""
