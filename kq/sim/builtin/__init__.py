"""The rules of the built-in kinds: their defaults, and what the real server finds wrong with them.

One module a family of kinds; `rules` puts them together. All pure. What types of fields there are
is known to `kq.sim.schemas`, not here.
"""
