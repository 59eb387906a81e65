"""Certificates of the webhook: issued, looked at, and served without a restart.

Belongs here: making a CA and serving pairs (`issue`), telling whether the files of a folder can be
served (`verify`), and the context that swaps them under open connections (`context`). Does not: the
listener (`webhook`), commands and files at a terminal (`cli.certs`), objects of the API server
(`kube`). The only package that knows `cryptography`. No private key is ever shown, logged, or part
of a repr.
"""
