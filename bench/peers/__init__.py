"""`make bench-peers`: Kueue under the loads of `make bench`, on the same kind of control plane.

program       Kueue built from its Go module, and where its manifests are
manifests     those manifests for a process on this machine: what is changed, and nothing else is
certificate   what its webhooks serve with
objects       the quota of a load, as Kueue knows it
kueue         Kueue on a cluster, as the queue under test
comparison    both queues' figures side by side, and their ratios
"""
