"""The networks and the contract that they keep: `Generator`."""
