"""KubeRay's operator: RayClusters with their pods, RayJobs with a cluster each.

Pure, as all controllers of the simulated cluster; held to KubeRay 1.6 by
`tests/sim/test_sim_data_same_as_real.py`. The dashboard of a cluster says of a job what the Job
that submitted it has come to. Services, autoscaling and SidecarMode's own container are not played.
"""
