"""What a controller of the simulated cluster is, and what it is run by.

A controller is pure: `concerns` says which keys an event puts on its queue, `sync` says what is to
be written for one key, in steps (`controller`). What it knows is a `view` of all objects, kept by
events; what it wants is told by `writes`. `objects` is how it reads and makes objects. `running`
carries out on the event loop what controllers want. Concrete controllers are in `kq.sim.cluster`.
"""
