"""The composition root: builds each object of a process once, starts and stops it.

Belongs here: which object is given to which, in what order they start and stop, ports and signals.
Does not: flags and files (`cli`), or any decision.
"""
