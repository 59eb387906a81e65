"""The API server, seen from here.

Belongs here: how to reach it (`auth`, `connection`), how to ask it (`requests`,
`transport`, `client`), what its refusals mean (`errors`), how to follow it (`watch`, `store`,
`replica`, `informer`) and how to leave notes for people on it (`recorder`).
Does not: what any object means. Views are handed in as decode functions, so nothing here knows a
unit from a job. Only `transport` opens connections; only `auth` imports kubernetes_asyncio,
whose import takes 0.3 s and 38 MiB: import `auth` only where a kubeconfig is read.
"""
