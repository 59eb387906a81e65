"""A Kubernetes API server in memory, without a transport.

`server.ApiServer` answers requests: it resolves them to calls (`paths`), keeps objects
(`storage`), and does to them what the real one does (`meta`, `patching`, `schema`, `admission`).
Watches are streams of lines (`watching`). Objects are JSON values; the wall clock, random numbers
and webhook calls are given. Controllers of the cluster do not belong here.
"""
