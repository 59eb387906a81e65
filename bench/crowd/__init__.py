"""A manager that is started on 100,000 waiting units: memory, start-up, rest, and the next grant.

sample    a few jobs of each shape, held and told why by kq itself, in virtual time
crowd     many like them, as lines of JSON for `kq sim --objects`
ground    `kq sim` and `kq manager`, each a process of its own
figures   what is measured of the manager
"""
