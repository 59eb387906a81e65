"""What the Job controller does with one Job of batch/v1; pure.

`survey` counts the pods, `ending` says whether the Job is at its end, `manage` which pods it lacks
or has too many, `status` what its status says, and `syncing` puts them together in the order of the
real controller. `indexes` and `failures` are their vocabulary. Queues, events of the watch and the
API server do not belong here; see `kq.sim.cluster.jobs`.
"""
