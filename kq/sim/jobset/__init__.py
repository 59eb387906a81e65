"""JobSet and Trainer, played: sets of Jobs, and the TrainJobs that become such sets; pure.

`jobsets` (with `childjobs` and `failurepolicy`) is JobSet, `trainjobs` (with `runtimes`) Trainer.
Each has one look at a job, in the order of the real operator. Their Jobs are those of batch/v1,
which `kq.sim.jobs` looks after.
"""
