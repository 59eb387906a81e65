#!/bin/sh
# CA and serving pair into certs/out (mode 0600); a second run renews the pair under the same CA.
# Arguments go to `kq certs issue`, for example: --name 127.0.0.1 --name localhost --inject
set -eu
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -m kq certs issue --out certs/out "$@"
