"""A real control plane on loopback: etcd, API server, controllers, scheduler, and KWOK as nodes.

For tests, the demo and benchmarks: built once from go.mod into a cache outside the tree, started
beside others of its kind, and ended without a trace. Linux only: processes are told apart by /proc.

    build, toolchain    from go.mod to a folder of binaries
    edits               dependencies that are built with a text in them changed
    pki, kubeconfig     who trusts whom, and how clients get in
    components          the command line of each process
    processes, leash    start, watch and end one process by its pid
    plane               all of them together
    cluster, probes     what a test holds: kubectl and plain requests; questions asked until true
    operators           other people's controllers of jobs beside it
    cli                 python -m controlplane build|up|down|status

Nothing in here knows kq.
"""
