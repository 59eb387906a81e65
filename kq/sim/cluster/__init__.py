"""The controllers of the simulated cluster, as far as jobs meet them: those of a real cluster's
controller manager, its scheduler, and what kubelets do.

Each is pure, see `kq.sim.control`; `cluster` has them all. What they write, and in which order, is
held to the real ones by `tests/sim/test_sim_controllers_same_as_real.py`. What the Job controller
does with one Job is `kq.sim.jobs`. The API server does not belong here, nor anything of kq.
"""
