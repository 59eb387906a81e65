"""Told by informers; brings objects to their wanted state.

An event only puts a request, the key of an object, on a work queue (`handlers`, `wiring`). A
`controller` hands each request to its reconciler, which reads the present state, asks the pure
core what to do, and has `execute` do it. Here belong the reconcilers, one a module, and what runs
them. Decisions do not (`kq.decide`), nor the client and the informers (`kq.kube`), nor any
queue policy or quota plugin: reconcilers are given theirs.
"""
