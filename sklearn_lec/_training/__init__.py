"""The engine: what happens between a call of ``fit`` and the optimizer. Private."""
