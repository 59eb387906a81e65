"""Writing: what becomes of an object between a client's request and the storage.

`writes` creates, replaces and patches, `deletes` deletes, `acts` binds and evicts. What the server
does to metadata is `meta`, what it refuses there `checks`.
"""
