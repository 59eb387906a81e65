"""A work queue with the semantics of client-go: each key once, never with two workers at a time.

`state` says which key is next and is told the time; `ratelimit` says how long a failed key waits;
`queue` puts both on the event loop. What belongs here would serve any asyncio program: nothing of
Kubernetes, of jobs, or of how a key is worked on (that is `kq.reconcile.controller`).
"""
