"""Schemas: what objects may say, and what the API server makes of them before it keeps them.

`definitions` are the built-in types as a real server publishes them, `shapes` walks these and the
schemas of CRDs alike. `decode` reads objects of built-in kinds, `structural` prunes and defaults
custom ones, `validate` finds what is wrong with them. Rules of single kinds do not belong here.
"""
