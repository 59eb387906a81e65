"""Why a unit waits, and what would let it start.

Belongs here: the explanation of a unit and of a job that is not submitted (`explanation`), the
changes that would let it start, one module each (`limits`, `jobs`, `requests`, `order`, `cures`),
and how a change is tried: passes of `kq.decide.cycle` on a changed picture of what the book knows
(`world`, `passes`, `crowd`, `looks`). Does not: any decision that stands, which is `kq.decide`'s
alone; nothing here changes the book. Pure.
"""
