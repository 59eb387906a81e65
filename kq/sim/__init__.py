"""A whole cluster in one process: an API server in memory, its controllers, faults, virtual time.

`kq.sim.api` is the server without a transport, `kq.sim.local` reaches it without sockets. What it
does is held to a real API server by `tests/sim/test_sim_same_as_real.py`. Nothing of kq's own
decisions belongs here: the webhook and the manager run on it unchanged.
"""
