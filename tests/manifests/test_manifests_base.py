"""The manifests of an installation: files, rights, processes, webhook configuration, examples."""

import re

import pytest
import yaml
from manifest_files import BASE, EXAMPLES, FILES, LOCAL, ROOT, documents, named, objects

from kq import settings
from kq.core.keys import EXCLUDED_NAMESPACES, MANAGED_LABEL, QUOTA_LABEL
from kq.jobs import INTEGRATIONS, make_integrations
from kq.jobs.options import JobOptions

WRITE = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_file_holds_objects(path):
    assert documents(path)
    for document in documents(path):
        assert {"apiVersion", "kind"} <= set(document)


def test_no_object_is_there_twice():
    keys = [
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in objects(BASE)
    ]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.name == "kustomization.yaml"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_kustomization_names_what_exists(path):
    (kustomization,) = documents(path)
    for entry in kustomization.get("resources", []) + kustomization.get("components", []):
        target = path.parent / entry
        assert target.is_file() or (target / "kustomization.yaml").is_file(), entry


def test_the_base_takes_in_all_its_files():
    (kustomization,) = documents(BASE / "kustomization.yaml")
    (crds,) = documents(BASE / "crds" / "kustomization.yaml")
    files = {path.name for path in BASE.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files | {"crds"}
    assert set(crds["resources"]) == {path.name for path in (BASE / "crds").glob("q*.yaml")}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Deployment", "koord-queue"),
        ("Deployment", "koord-queue-controllers"),
        ("Service", "koord-queue"),
        ("Service", "koord-queue-webhook"),
        ("MutatingWebhookConfiguration", "koord-queue"),
        ("ClusterRole", "koord-queue"),
        ("ClusterRole", "koord-queue-controllers"),
        ("ServiceAccount", "koord-queue"),
        ("ServiceAccount", "koord-queue-controllers"),
        ("ConfigMap", "koord-queue-plugin-config"),
    ],
)
def test_objects_have_the_names_that_people_know(kind, name):
    assert named(kind, name)


def roles():
    return [each for each in objects(BASE) if each["kind"] in ("ClusterRole", "Role")]


def rights(role):
    """Each right of a role: verb, group, resource, and the names it is limited to."""
    return {
        (verb, group, resource, tuple(rule.get("resourceNames", ())))
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


@pytest.mark.parametrize("role", roles(), ids=lambda role: role["metadata"]["name"])
def test_no_right_is_a_wildcard(role):
    assert [right for right in rights(role) if "*" in right[:3]] == []


def test_the_manager_writes_jobs_only_by_patch_and_pods_never():
    written = {
        (verb, resource)
        for verb, _, resource, _ in rights(named("ClusterRole", "koord-queue"))
        if verb in WRITE
    }
    kinds = {
        each.plural for one in make_integrations(INTEGRATIONS, JobOptions()) for each in one.kinds
    }
    of_jobs = {each for each in written if each[1].partition("/")[0] in {*kinds, "pods"}}
    assert {verb for verb, _ in of_jobs} == {"patch"}
    assert {resource for _, resource in of_jobs if "/" not in resource} == kinds
    shown = {"jobs", "tfjobs", "pytorchjobs", "mpijobs", "xgboostjobs", "paddlejobs"}
    assert {resource for _, resource in of_jobs if "/" in resource} == {
        f"{each}/status" for each in shown
    }


def test_no_role_reaches_secrets_or_webhook_configurations():
    reached = {right[2] for role in roles() for right in rights(role)}
    assert reached.isdisjoint({"secrets", "mutatingwebhookconfigurations"})


def test_config_maps_are_reached_by_name_in_the_own_namespace_alone():
    everywhere = {
        right[2] for role in roles() if role["kind"] == "ClusterRole" for right in rights(role)
    }
    assert "configmaps" not in everywhere
    reached = {
        (verb, names)
        for verb, _, resource, names in rights(named("Role", "koord-queue"))
        if resource == "configmaps"
    }
    assert reached == {
        ("create", ()),
        ("get", ("koord-queue-state",)),
        ("patch", ("koord-queue-state",)),
    }


def test_the_webhook_reads_and_writes_nothing():
    webhook = rights(named("ClusterRole", "koord-queue-controllers"))
    assert {verb for verb, *_ in webhook} == {"get", "list", "watch"}
    assert {resource for _, _, resource, _ in webhook} == {
        "namespaces",
        "queues",
        "elasticquotas",
        "elasticquotatrees",
        "resourcequotas",
    }


def test_only_the_manager_may_write_the_status_of_units():
    writers = {
        role["metadata"]["name"]
        for role in roles()
        for verb, _, resource, _ in rights(role)
        if resource == "queueunits/status" and verb in WRITE
    }
    assert writers == {"koord-queue"}


def test_people_may_look_or_also_patch():
    viewer, operator = (
        named("ClusterRole", "koord-queue-viewer"),
        named("ClusterRole", "koord-queue-operator"),
    )
    assert viewer["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert {verb for verb, *_ in rights(viewer)} == {"get", "list", "watch"}
    assert not any("aggregate" in label for label in operator["metadata"]["labels"])
    assert {verb for verb, *_ in rights(operator)} == {"get", "list", "watch", "patch"}


def test_each_account_is_bound_to_the_role_of_its_name():
    for binding in objects(BASE):
        if binding["kind"] in ("ClusterRoleBinding", "RoleBinding"):
            (subject,) = binding["subjects"]
            assert subject["name"] == binding["roleRef"]["name"] == binding["metadata"]["name"]
            assert (
                named("ServiceAccount", subject["name"])["metadata"]["namespace"]
                == subject["namespace"]
            )


DEPLOYMENTS = pytest.mark.parametrize(
    ("name", "command", "replicas"),
    [("koord-queue", "manager", 1), ("koord-queue-controllers", "webhook", 2)],
)


@DEPLOYMENTS
def test_the_processes_are_one_image_and_two_commands(name, command, replicas):
    deployment = named("Deployment", name)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert deployment["spec"]["replicas"] == replicas
    assert container["image"] == "koord-queue/kq:0.1.0"
    assert container["args"][0] == command
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == name


@DEPLOYMENTS
def test_pods_run_without_privileges(name, command, replicas):
    spec = named("Deployment", name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not any(field.startswith("host") for field in spec)


@DEPLOYMENTS
def test_the_configuration_file_is_where_the_process_looks(name, command, replicas):
    spec = named("Deployment", name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    (folder,) = (
        mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "config"
    )
    (volume,) = (each for each in spec["volumes"] if each["name"] == "config")
    assert f"--config={folder}/plugin.yaml" in container["args"]
    assert "plugin.yaml" in named("ConfigMap", volume["configMap"]["name"])["data"]


def test_the_webhook_finds_its_certificate_and_starts_without():
    spec = named("Deployment", "koord-queue-controllers")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert {"name": "tls", "mountPath": "/etc/koord-queue/tls", "readOnly": True} in container[
        "volumeMounts"
    ]
    (volume,) = (each for each in spec["volumes"] if each["name"] == "tls")
    assert volume["secret"] == {"secretName": "koord-queue-webhook-tls", "optional": True}


@pytest.mark.parametrize(
    ("service", "deployment", "port"),
    [
        ("koord-queue", "koord-queue", 10259),
        ("koord-queue-webhook", "koord-queue-controllers", 443),
    ],
)
def test_services_lead_to_ports_of_their_pods(service, deployment, port):
    (exposed,) = named("Service", service)["spec"]["ports"]
    template = named("Deployment", deployment)["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert exposed["port"] == port
    assert exposed["targetPort"] in [each["name"] for each in container["ports"]]
    selector = named("Service", service)["spec"]["selector"]
    assert selector.items() <= template["metadata"]["labels"].items()


def test_the_configuration_is_one_that_kq_takes():
    body = yaml.safe_load(named("ConfigMap", "koord-queue-plugin-config")["data"]["plugin.yaml"])
    assert settings.parse(body) == settings.Settings()


def hooks():
    return named("MutatingWebhookConfiguration", "koord-queue")["webhooks"]


def test_each_kind_has_its_webhook():
    assert [hook["name"] for hook in hooks()] == [f"{key}.hold.koord-queue" for key in INTEGRATIONS]
    rules = [
        (rule["apiGroups"], rule["apiVersions"], rule["resources"])
        for hook in hooks()
        for rule in hook["rules"]
    ]
    assert rules == [
        ([each.group], list(dict.fromkeys(one.version for one in integration.kinds)), [each.plural])
        for integration in make_integrations(INTEGRATIONS, JobOptions())
        for each in integration.kinds[:1]
    ]


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook["name"])
def test_a_webhook_can_hold_jobs_and_block_nothing(hook):
    (rule,) = hook["rules"]
    assert rule["operations"] == ["CREATE"]
    assert not any("/" in resource for resource in rule["resources"])
    assert hook["failurePolicy"] == "Ignore"
    assert hook["timeoutSeconds"] == 3
    assert hook["sideEffects"] == "None"
    assert hook["reinvocationPolicy"] == "IfNeeded"
    assert hook["matchPolicy"] == "Equivalent"
    assert hook["admissionReviewVersions"] == ["v1"]


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook["name"])
def test_a_webhook_is_called_at_its_service_and_its_bundle_is_injected(hook):
    service = named("Service", hook["clientConfig"]["service"]["name"])
    assert hook["clientConfig"] == {
        "service": {
            "name": service["metadata"]["name"],
            "namespace": service["metadata"]["namespace"],
            "path": "/mutate",
            "port": service["spec"]["ports"][0]["port"],
        }
    }


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook["name"])
def test_excluded_namespaces_cause_no_call(hook):
    assert hook["namespaceSelector"] == {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": [*EXCLUDED_NAMESPACES, "koord-queue"],
            },
            {"key": MANAGED_LABEL, "operator": "NotIn", "values": ["false"]},
        ]
    }


def test_the_local_overlay_calls_a_process_on_this_machine():
    (kustomization,) = documents(LOCAL / "kustomization.yaml")
    patches = {
        (patch["target"]["kind"], patch["target"].get("name")): yaml.safe_load(patch["patch"])
        for patch in kustomization["patches"]
    }
    (service,) = patches["Service", "koord-queue-webhook"]
    ports = patches["MutatingWebhookConfiguration", "koord-queue"]
    assert service["value"]["type"] == "ExternalName"
    assert service["value"]["externalName"] == "localhost"
    assert {port["value"] for port in ports} == {service["value"]["ports"][0]["port"]} == {9443}
    assert [port["path"] for port in ports] == [
        f"/webhooks/{number}/clientConfig/service/port" for number in range(len(hooks()))
    ]
    assert patches["Deployment", None]["$patch"] == "delete"


def test_example_jobs_use_the_example_quota_which_has_room_for_one():
    (quota,) = documents(EXAMPLES / "elastic-quota.yaml")
    for name in ("jobs.yaml", "jobs-without-suspend.yaml"):
        jobs = documents(EXAMPLES / name)
        assert [job["metadata"]["name"] for job in jobs] == ["my-job", "my-job-blocked"]
        for job in jobs:
            (container,) = job["spec"]["template"]["spec"]["containers"]
            assert job["metadata"]["labels"][QUOTA_LABEL] == quota["metadata"]["name"]
            assert container["resources"]["requests"] == quota["spec"]["max"]


def test_example_jobs_differ_in_suspend_alone():
    held, plain = (
        documents(EXAMPLES / "jobs.yaml"),
        documents(EXAMPLES / "jobs-without-suspend.yaml"),
    )
    assert [job["spec"].get("suspend") for job in held + plain] == [True, True, None, None]
    assert [{**job, "spec": {**job["spec"], "suspend": True}} for job in plain] == held


def test_no_manifest_carries_a_key_or_a_bundle():
    for path in FILES:
        text = path.read_text()
        assert "PRIVATE KEY" not in text
        assert not re.search(r"^\s*(- )?caBundle:", text, re.MULTILINE)
