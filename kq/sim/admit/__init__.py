"""Who else has a say in a write: plugins of the server itself, then webhooks.

`chain` asks them all in order, `webhooks` those that stored configurations name (`hooks`,
`reviews`). What a write does when nobody objects is `kq.sim.write.writes`.
"""
