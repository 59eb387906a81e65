#!/bin/sh
# Checks a folder with ca.crt, tls.crt and tls.key (default certs/out): chain, names, pair, days
# left. With CLUSTER=1 also that every caBundle of the webhook configuration is the CA of the
# folder (kubectl). Exit code 0 if all is well, for monitoring.
set -eu
root="$(cd "$(dirname "$0")/.." && pwd)"
folder="${1:-$root/certs/out}"
name="${NAME:-koord-queue-webhook.koord-queue.svc}"
service="${name%%.*}"
rest="${name#*.}"

openssl verify -x509_strict -purpose sslserver -verify_hostname "$name" \
    -CAfile "$folder/ca.crt" "$folder/tls.crt"
(cd "$root" && "${PYTHON:-python3}" -m kq certs verify "$folder" \
    --service "$service" --namespace "${rest%%.*}")

if [ -n "${CLUSTER:-}" ]; then
    want="$(base64 < "$folder/ca.crt" | tr -d '\n')"
    bundles="$(kubectl get mutatingwebhookconfiguration koord-queue \
        -o jsonpath='{range .webhooks[*]}{.clientConfig.caBundle}{"\n"}{end}')"
    [ -n "$bundles" ] || { echo "no caBundle is set" >&2; exit 1; }
    for have in $bundles; do
        [ "$have" = "$want" ] || { echo "a caBundle is not the CA of $folder" >&2; exit 1; }
    done
    echo "caBundle: OK"
fi
