"""The words of the domain: values, names, texts, and how they look on the wire.

Belongs here: frozen values, parsing and printing, the names of keys and the texts of messages.
Does not: decisions (`decide`), what one job kind looks like (`jobs`), anything that waits, reads a
clock or talks to someone. Pure: no I/O, checked by the import contract.
"""
