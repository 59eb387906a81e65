"""kq: a job queue for Kubernetes.

A mutating webhook holds jobs back as they are created; a manager turns each into a QueueUnit,
decides by queue policy and quota who may start, and lets them go. ARCHITECTURE.md shows how the
packages below fit together; `.importlinter` states who may import whom.
"""

__version__ = "0.1.0"
