"""The Spark operator, and what the drivers of its applications do: executors that come and go.

Pure, as all controllers of the simulated cluster; held to spark-operator 2.5 by
`tests/sim/test_sim_data_same_as_real.py`. A submission takes no time, and executors do not scale.
"""
