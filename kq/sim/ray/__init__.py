"""KubeRay's operator: RayClusters with their pods, RayJobs with a cluster each.

Pure, as all controllers of the simulated cluster; held to KubeRay 1.6 by
`tests/sim/test_sim_data_same_as_real.py`. The dashboard of a cluster says of a job what the Job
that submitted it has come to; without one, the RayJob's own annotations say how long it runs, as
those of a pod do. Services and autoscaling are not played.
"""
