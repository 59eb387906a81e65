"""A unit keeps of a template what placement and counting need, and nothing else (spec 2.12)."""

import copy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kq.core.podrequests import pod_request
from kq.core.podtemplate import bare_template, canonical, slim_template
from kq.errors import QuantityError

WHOLE = {
    "metadata": {
        "creationTimestamp": None,
        "labels": {
            "app": "a",
            "job-name": "j",
            "job-name-of-mine": "k",
            "controller-uid": "u",
            "batch.kubernetes.io/job-name": "j",
        },
        "annotations": {"koord-queue/x": "1", "secret.example.com/token": "t"},
    },
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "imagePullPolicy": "Always",
                "command": ["sh"],
                "args": ["-c"],
                "env": [{"name": "TOKEN", "value": "t"}],
                "envFrom": [{"secretRef": {"name": "s"}}],
                "livenessProbe": {"exec": {"command": ["x"]}},
                "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "resources": {
                    "limits": {"memory": "1024Mi"},
                    "requests": {"cpu": "1000m", "memory": "1073741824"},
                    "claims": [{"name": "gpu"}],
                },
                "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}],
            }
        ],
        "initContainers": [
            {"name": "side", "image": "i", "restartPolicy": "Always", "resources": {}}
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "secret", "secret": {"secretName": "s"}},
            {"name": "conf", "configMap": {"name": "c"}},
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [],
        "restartPolicy": "Never",
        "schedulerName": "koord-scheduler",
        "priority": 0,
        "hostNetwork": False,
        "overhead": {"cpu": "0.1"},
        "resources": {"requests": {"cpu": "2000m"}},
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
        "dnsPolicy": "ClusterFirst",
        "imagePullSecrets": [{"name": "s"}],
    },
}

SLIM = {
    "metadata": {
        "labels": {"app": "a", "job-name-of-mine": "k"},
        "annotations": {"koord-queue/x": "1"},
    },
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "busybox",
                "resources": {
                    "limits": {"memory": "1Gi"},
                    "requests": {"cpu": "1", "memory": "1Gi"},
                    "claims": [{"name": "gpu"}],
                },
                "ports": [{"containerPort": 81, "hostPort": 8081}],
            }
        ],
        "initContainers": [{"name": "side", "image": "i", "restartPolicy": "Always"}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        ],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "restartPolicy": "Never",
        "schedulerName": "koord-scheduler",
        "priority": 0,
        "hostNetwork": False,
        "overhead": {"cpu": "100m"},
        "resources": {"requests": {"cpu": "2"}},
    },
}


def test_placement_and_counting_are_kept_and_nothing_else():
    given_template = copy.deepcopy(WHOLE)
    assert slim_template(given_template) == SLIM
    assert given_template == WHOLE


def test_what_is_slim_stays_as_it_is():
    assert slim_template(SLIM) == SLIM


def test_a_slim_template_asks_for_the_same():
    assert pod_request(slim_template(WHOLE)["spec"]) == pod_request(WHOLE["spec"])


@pytest.mark.parametrize(
    "template",
    [{}, {"metadata": None, "spec": None}, {"metadata": {"labels": None}, "spec": {}}],
    ids=repr,
)
def test_nothing_gives_nothing(template):
    assert slim_template(template) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"memory": "1.5G"}, {"memory": "1500M"}),
        ({"memory": "8589934592"}, {"memory": "8Gi"}),
        ({"memory": 1000}, {"memory": "1e3"}),
        ({"cpu": "1000m", "memory": "1024Mi"}, {"memory": "1Gi", "cpu": 1}),
    ],
)
def test_equal_quantities_are_equal_bytes(one, other):
    def written(requests):
        spec = {"containers": [{"name": "a", "resources": {"requests": requests}}]}
        return canonical(slim_template({"spec": spec}))

    assert written(one) == written(other)


def test_what_is_no_quantity_is_kept_and_refused_when_it_is_counted():
    spec = {"containers": [{"name": "a", "resources": {"requests": {"cpu": "4 cores"}}}]}
    slim = slim_template({"spec": spec})
    assert slim == {"spec": spec}
    with pytest.raises(QuantityError, match="cpu in requests of container a is 4 cores"):
        pod_request(slim["spec"])


@pytest.mark.parametrize("containers", ["a", ["a"], [{"name": "a", "resources": "4"}]], ids=repr)
def test_what_cannot_be_counted_is_not_made_nothing(containers):
    assert slim_template({"spec": {"containers": containers}}) == {
        "spec": {"containers": containers}
    }


json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["metadata", "spec"]), json))
def test_any_template_can_be_made_slim(template):
    assert slim_template(slim_template(template)) == slim_template(template)


fields = st.sampled_from(
    [
        "metadata",
        "labels",
        "annotations",
        "spec",
        "containers",
        "initContainers",
        "job-name",
        "batch.kubernetes.io/x",
        "name",
        "command",
        "resources",
        "requests",
        "overhead",
        "volumes",
        "ephemeral",
        "ports",
        "hostPort",
        "cpu",
    ]
)
shaped = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(fields, inner)),
    max_leaves=12,
)


@given(st.one_of(st.just(WHOLE), st.dictionaries(fields, shaped)))
def test_a_template_is_as_slim_as_ever_when_it_was_made_bare_before(template):
    assert slim_template(bare_template(template)) == slim_template(template)


def test_jobs_that_run_different_commands_have_the_same_bare_template():
    def template(number):
        container = {"name": "main", "image": "a", "command": [f"run {number}"]}
        labels = {"app": "a", "job-name": f"j-{number}", "controller-uid": f"u-{number}"}
        return {
            "metadata": {"labels": labels, "creationTimestamp": None},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": number},
        }

    assert bare_template(template(1)) == bare_template(template(2))


@given(st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.integers())))
def test_canonical_bytes_do_not_depend_on_order(template):
    turned = {key: dict(reversed(template[key].items())) for key in reversed(template)}
    assert canonical(turned) == canonical(template)
    assert msgspec.json.decode(canonical(template)) == template
