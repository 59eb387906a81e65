"""`make bench` and `make profile`: kq under load on a real control plane, measured from outside.

loads       one module a load; each gets a control plane and a kq of its own
stage       control plane and a queue in a temporary folder
queues      the queue under test as a value: kq, or a peer
peers       Kueue under the same loads: `make bench-peers`
objects     what is submitted, as the bytes that are sent
posts       connections that only post: as cheap a client as can be, for it shares the machine
follow      when each object was first seen released, complete, or with its reason
rush        many jobs submitted at once and followed to their ends
meter       processor time and memory of every process, by /proc
audit       the API server's own record of who wrote what
stats       percentiles, and the latency from a completion to a release
outcome     figures of a load, for the table and for the JSON file
sampling    goes into kq's processes and notes where they spend processor time
stacks      those notes as tables
"""
