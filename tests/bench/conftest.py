"""A webhook configuration with a certificate made in memory."""

import base64

import pytest
from controlplane.pki import Authority


@pytest.fixture
def serving_configuration() -> dict[str, object]:
    """As an API server shows it."""
    bundle = base64.b64encode(Authority("test").certificate).decode()
    service = {"name": "hook", "namespace": "system", "path": "/mutate", "port": 9443}
    return {"webhooks": [{"clientConfig": {"caBundle": bundle, "service": service}}]}
