"""The kinds of jobs that queues are for, as their operators serve them: small CRDs of our own.

A file says what users and kq can see: names, versions, printer columns, status subresource or none,
defaults and required fields, keys of lists. What it does not know it keeps, where it does not say
otherwise; `arena` and `training` have other forms of the same kinds.
"""
