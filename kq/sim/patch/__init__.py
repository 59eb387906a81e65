"""Patches: JSON, merge, strategic merge and server-side apply, with who manages which field.

Each module is one kind of patch, or one of the sets that apply rests on; `kq.sim.api.patching`
chooses among them. All pure: documents in, documents out. Nothing here checks what the result of a
patch says; that is done by the rules of its kind.
"""
