"""Argo's workflow controller: nodes of steps and DAGs, a pod for each container, and locks.

Pure, as all controllers of the simulated cluster; held to Argo 4.0 by
`tests/sim/test_sim_data_same_as_real.py`. Of a Workflow only what is written in itself is played:
templates of other objects, loops, conditions (`when`), inputs and outputs, artifacts, hooks but
`onExit`, daemons and memoization are not.
"""
