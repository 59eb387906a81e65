"""The parts of which operators are made, without an operator."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from controlplane.cluster import Object
from controlplane.operators import (
    OPERATORS,
    certificates,
    manifests,
    marks,
    program,
    ray_dashboard,
    spark_submit,
)
from controlplane.operators.operator import Operator, Webhooks

WEBHOOKS = Webhooks(
    folder="config",
    namespace="there",
    service="webhook",
    prefix="its-",
    unserved=frozenset({"two.example.com"}),
    set_of={"one.example.com": {"objectSelector": {"matchLabels": {"of": "it"}}}},
)
RENDERED = """
apiVersion: v1
kind: Service
metadata: {name: webhook}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating, labels: {a: b}}
webhooks:
- name: one.example.com
  clientConfig: {service: {name: other, namespace: elsewhere, path: /mutate}}
- name: two.example.com
  clientConfig: {service: {name: other, namespace: elsewhere, path: /nowhere}}
"""


def test_a_webhook_configuration_calls_the_port_of_a_process_which_serves_it() -> None:
    [made] = manifests.configurations(RENDERED, WEBHOOKS, 1234, b"ca")
    assert made["metadata"] == {"name": "its-mutating"}
    [webhook] = made["webhooks"]
    assert webhook == {
        "name": "one.example.com",
        "clientConfig": {
            "service": {"name": "webhook", "namespace": "there", "path": "/mutate", "port": 1234},
            "caBundle": "Y2E=",
        },
        "objectSelector": {"matchLabels": {"of": "it"}},
    }


@pytest.mark.parametrize(
    ("made", "path"),
    [
        pytest.param(
            {"kind": "Namespace", "metadata": {"name": "a"}}, "/api/v1/namespaces/a", id="namespace"
        ),
        pytest.param(
            manifests.service(WEBHOOKS), "/api/v1/namespaces/there/services/webhook", id="service"
        ),
        pytest.param(
            {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"}},
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/a",
            id="configuration",
        ),
    ],
)
def test_an_object_is_made_where_its_kind_is(made: Object, path: str) -> None:
    assert manifests.path_of(made) == path


def test_a_definition_is_known_by_its_kind_and_the_versions_that_it_serves() -> None:
    path = "/apis/kubeflow.org/v2beta1/mpijobs"
    assert manifests.definition_name(path) == "mpijobs.kubeflow.org"
    versions = [{"name": "v1", "served": True}, {"name": "v2beta1", "served": False}]
    assert not manifests.has_version({"spec": {"versions": versions}}, path)
    assert manifests.has_version({"spec": {"versions": versions}}, path.replace("v2beta1", "v1"))


def test_one_certificate_serves_all_hosts_and_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "certificates"
    certificates.ensure(folder, ["a.there.svc", "b.there.svc"])
    served = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    names = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.there.svc", "b.there.svc"]
    authority = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    served.verify_directly_issued_by(authority)
    key = load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert b"BEGIN RSA " in (folder / "tls.key").read_bytes()
    before = (folder / "tls.crt").read_bytes()
    certificates.ensure(folder, ["c.there.svc"])
    assert (folder / "tls.crt").read_bytes() == before


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_every_operator_is_pinned_by_a_tool_line(operator: Operator) -> None:
    go_mod = program.module(operator).go_mod()
    tools = go_mod.partition("\ntool ")[2].partition("\n\n")[0]
    assert operator.package in tools.replace("(", "").replace(")", "").split()


def test_kinds_are_left_to_the_operator_that_brings_them_in_another_version() -> None:
    training = OPERATORS["training"]
    left = training.kinds.keys() - training.kinds_beside(frozenset({"training", "mpi"})).keys()
    assert left == {"/apis/kubeflow.org/v1/mpijobs"}


def test_the_operators_of_a_test_are_those_of_all_its_marks() -> None:
    item = SimpleNamespace(
        iter_markers=lambda name: [pytest.mark.operators("ray").mark, pytest.mark.operators().mark]
    )
    other = SimpleNamespace(iter_markers=lambda name: [pytest.mark.operators("trainer").mark])
    items = cast("list[pytest.Item]", [item, other])
    assert marks.asked_for(items) == ["jobset", "trainer", "ray"]


def test_what_is_not_in_the_cache_is_missing(tmp_path: Path) -> None:
    environ = {"KQ_CACHE": str(tmp_path)}
    target = tmp_path / "operators" / "ray" / program.module(OPERATORS["ray"]).key()
    target.mkdir(parents=True)
    assert marks.missing(["jobset", "ray"], environ) == ["jobset"]


@pytest.mark.parametrize(
    ("seconds", "annotations", "status"),
    [
        pytest.param(0.0, {}, "SUCCEEDED", id="at once"),
        pytest.param(1.9, {"run-for": "2s"}, "RUNNING", id="not yet"),
        pytest.param(2.0, {"run-for": "2s"}, "SUCCEEDED", id="ended"),
        pytest.param(1e9, {"run-for": "forever"}, "RUNNING", id="never"),
        pytest.param(89.0, {"fail-after": "1m30s"}, "RUNNING", id="not failed yet"),
        pytest.param(90.0, {"fail-after": "1m30s", "run-for": "1s"}, "FAILED", id="failed"),
        pytest.param(0.5, {"fail-after": "500ms"}, "FAILED", id="failed soon"),
    ],
)
def test_a_ray_job_without_a_pod_ends_when_its_annotations_say(
    seconds: float, annotations: dict[str, str], status: str
) -> None:
    assert ray_dashboard.after(seconds, {"annotations": annotations}) == status


def test_the_pods_of_a_spark_application_are_what_the_arguments_say() -> None:
    asked = spark_submit.configuration(
        [
            *("--class", "a.B", "--conf", "spark.executor.memory=512m"),
            *("--conf", "spark.executor.cores=2"),
            *("--conf", "spark.kubernetes.executor.label.team=a=b"),
            *("--conf", "spark.kubernetes.executor.annotation.run-for=forever", "local:///x.jar"),
        ]
    )
    owner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "driver", "uid": "1"}}
    made = spark_submit.pod("executor", "e", asked, owner=owner, selector="s")
    assert made["metadata"]["labels"] == {
        "team": "a=b",
        "spark-role": "executor",
        "spark-app-selector": "s",
    }
    assert made["metadata"]["annotations"] == {"run-for": "forever"}
    [container] = made["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "896Mi"}}
    assert made["metadata"]["ownerReferences"][0]["uid"] == "1"
    driver = spark_submit.pod("driver", "d", asked, selector="s")
    assert driver["metadata"]["ownerReferences"] == []
