"""The law: what is in, what to do out.

Belongs here: the life of a unit as a table, what a job needs next, the pass over a Queue, what
quotas have in use, and the book that keeps these up to date as objects change. Does not: how one
job kind looks (`jobs`), which quota limits what (`quota`), or any I/O. Pure.
"""
