"""The quotas of histories: two below one parent, and one apart."""

QUOTAS = {"root": 6, "a": 4, "b": 4, "apart": 2}
"""Names and their cpu."""
MINIMA = {"a": 3, "b": 2}
"""The cpu that they may reclaim."""
PARENTS = {"a": "root", "b": "root"}
LEAVES = ("a", "b", "apart")
POLICIES = ("Priority", "Block", "Intelligent")
RECLAIMS = ("Never", "LowerPriority", "Any")
STOPS = ("Hold", "HoldAndDrain")
