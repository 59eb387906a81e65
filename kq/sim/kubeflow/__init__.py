"""training-operator and mpi-operator, played: TFJob and its like, and MPIJob; pure.

Each kind has one look at a job, in the order of the real operator. What only containers need of
each other - services, secrets, environment - is not made.

`training` (with `trades`, `verdicts` and `limits`) is training-operator, `mpi` (with `launch` and
`mpistatus`) mpi-operator; `conditions` and `replicas` are their vocabulary. Queues and the API
server do not belong here: see `kq.sim.cluster.operators`, which all of them plug into.
"""
