"""What `kubectl get` shows: the columns of each kind, and the cells of an object in them.

`kq.sim.api.table` makes Table answers of these. All pure: how old something is depends on the
`now` that is passed.
"""
