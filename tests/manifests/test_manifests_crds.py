"""The CRDs: structural schemas that Kubernetes 1.22 takes, columns, limits (spec 2, 3)."""

import re

import pytest
from manifest_files import BASE, KOORDINATOR, named, schema_of, schemas

from kq.core.kinds import ELASTIC_QUOTA, QUEUE, QUEUE_UNIT
from kq.core.model import Phase
from kq.core.quantity import Quantity

UNITS = named("CustomResourceDefinition", "queueunits.scheduling.x-k8s.io")
QUEUES = named("CustomResourceDefinition", "queues.scheduling.x-k8s.io")
QUOTAS = named("CustomResourceDefinition", "elasticquotas.scheduling.sigs.k8s.io", KOORDINATOR)

CRDS = pytest.mark.parametrize(
    ("crd", "kind"),
    [(UNITS, QUEUE_UNIT), (QUEUES, QUEUE), (QUOTAS, ELASTIC_QUOTA)],
    ids=["QueueUnit", "Queue", "ElasticQuota"],
)


def at(crd, path):
    """The schema at a path such as `spec.podSet[].name`."""
    schema = schema_of(crd)
    for step in re.findall(r"[^.\[\]]+|\[\]", path):
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


@CRDS
def test_it_defines_the_kind_that_kq_talks_to(crd, kind):
    (version,) = crd["spec"]["versions"]
    assert crd["metadata"]["name"] == f"{kind.plural}.{kind.group}"
    assert crd["spec"]["group"] == kind.group
    assert version["name"] == kind.version
    assert (version["served"], version["storage"]) == (True, True)
    assert crd["spec"]["names"]["kind"] == kind.kind
    assert crd["spec"]["names"]["listKind"] == f"{kind.kind}List"
    assert crd["spec"]["names"]["plural"] == kind.plural
    assert (crd["spec"]["scope"] == "Namespaced") == kind.namespaced


@CRDS
def test_its_schema_is_structural(crd, kind):
    untyped = [
        path
        for path, schema in schemas(schema_of(crd))
        if "type" not in schema and not schema.get("x-kubernetes-int-or-string")
    ]
    assert untyped == []
    assert "x-kubernetes-preserve-unknown-fields" not in schema_of(crd)
    assert crd["spec"].get("preserveUnknownFields", False) is False


@CRDS
def test_no_schema_mixes_properties_and_any_names(crd, kind):
    assert [
        p for p, s in schemas(schema_of(crd)) if "properties" in s and "additionalProperties" in s
    ] == []


@CRDS
def test_it_has_no_rules_that_kubernetes_1_22_refuses(crd, kind):
    assert "x-kubernetes-validations" not in str(crd)


@CRDS
def test_only_pod_templates_keep_unknown_fields(crd, kind):
    keeping = [
        p for p, s in schemas(schema_of(crd)) if s.get("x-kubernetes-preserve-unknown-fields")
    ]
    assert keeping == ([".spec.podSet[].template"] if kind is QUEUE_UNIT else [])


@CRDS
def test_list_maps_can_be_merged_by_their_keys(crd, kind):
    list_maps = [s for _, s in schemas(schema_of(crd)) if s.get("x-kubernetes-list-type") == "map"]
    for schema in list_maps:
        (key,) = schema["x-kubernetes-list-map-keys"]
        assert key in schema["items"]["properties"]
        assert key in schema["items"]["required"]


@CRDS
def test_each_list_says_how_it_is_merged(crd, kind):
    lists = [s for _, s in schemas(schema_of(crd)) if s.get("type") == "array"]
    assert all("x-kubernetes-list-type" in each for each in lists)


@CRDS
def test_quantities_are_what_kubernetes_writes(crd, kind):
    quantities = [
        s["additionalProperties"]
        for _, s in schemas(schema_of(crd))
        if s.get("additionalProperties", {}).get("x-kubernetes-int-or-string")
    ]
    assert quantities
    for schema in quantities:
        for nano in (0, 500_000_000, 10**9, 1536 * 2**20 * 10**9, 1):
            assert re.fullmatch(schema["pattern"], str(Quantity(nano)))
        assert not re.fullmatch(schema["pattern"], "4 cores")


@CRDS
def test_apply_can_remember_it(crd, kind):
    assert len(str(crd)) < 256 * 1024 / 2


def test_units_print_the_columns_of_the_seed():
    """Spec 2.3: their order is fixed, ADMISSIONS among the narrow ones.

    REQUEST is what counts: grants of pods may be less (min-resources).
    """
    (version,) = UNITS["spec"]["versions"]
    columns = [
        (each["name"], each["type"], each["jsonPath"], each.get("priority", 0))
        for each in version["additionalPrinterColumns"]
    ]
    assert columns == [
        ("PHASE", "string", ".status.phase", 0),
        ("PRIORITY", "integer", ".spec.priority", 0),
        ("ADMISSIONS", "string", ".status.admissions", 0),
        ("JOBTYPE", "string", ".spec.consumerRef.kind", 0),
        ("QUEUE", "string", ".spec.queue", 1),
        ("MESSAGE", "string", ".status.message", 1),
        ("AGE", "date", ".metadata.creationTimestamp", 1),
        ("REQUEST", "string", ".spec.resource", 1),
    ]


def test_queues_print_their_columns():
    """Spec 3.2; the wide view says what is wrong with a Queue, though it is active."""
    (version,) = QUEUES["spec"]["versions"]
    narrow = [
        each["name"] for each in version["additionalPrinterColumns"] if "priority" not in each
    ]
    assert narrow == ["POLICY", "PRIORITY", "PENDING", "ADMITTED", "ACTIVE", "AGE"]
    (wide,) = [each for each in version["additionalPrinterColumns"] if "priority" in each]
    assert (wide["name"], wide["priority"]) == ("MESSAGE", 1)
    assert wide["jsonPath"] == '.status.conditions[?(@.type=="Active")].message'


def test_names_by_which_people_ask():
    assert UNITS["spec"]["names"]["shortNames"] == ["qu", "qus"]
    assert UNITS["spec"]["names"]["categories"] == ["koord-queue"]
    assert "shortNames" not in QUEUES["spec"]["names"]


@pytest.mark.parametrize("crd", [UNITS, QUEUES], ids=["QueueUnit", "Queue"])
def test_status_is_a_subresource(crd):
    (version,) = crd["spec"]["versions"]
    assert version["subresources"] == {"status": {}}


def test_nothing_in_the_spec_of_a_unit_is_required():
    assert "required" not in at(UNITS, "spec")
    assert "required" not in schema_of(UNITS)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("spec.priority", {"type": "integer", "format": "int32"}),
        ("spec.podSet", {"minItems": 1, "maxItems": 256, "x-kubernetes-list-type": "map"}),
        ("spec.podSet[].name", {"default": "main", "maxLength": 63}),
        ("spec.podSet[].count", {"default": 1, "minimum": 0}),
        ("spec.podSet[].minCount", {"minimum": 1}),
        ("spec.consumerRef", {"x-kubernetes-map-type": "atomic"}),
        ("spec.maximumExecutionTimeSeconds", {"minimum": 1}),
        ("status.message", {"maxLength": 32768}),
        ("status.admissions", {"maxItems": 256, "nullable": True, "x-kubernetes-list-type": "map"}),
        ("status.admissionChecks", {"maxItems": 8, "x-kubernetes-list-map-keys": ["name"]}),
        ("status.admissionChecks[].name", {"minLength": 1, "maxLength": 316}),
        ("status.admissionChecks[].podSetUpdates", {"maxItems": 256}),
        ("status.admissionChecks[].podSetUpdates[].tolerations", {"maxItems": 8}),
        ("status.conditions", {"maxItems": 16, "x-kubernetes-list-map-keys": ["type"]}),
        ("status.lastUpdateTime", {"format": "date-time"}),
    ],
)
def test_fields_of_a_unit_are_limited(path, fields):
    schema = at(UNITS, path)
    assert {name: schema.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("spec.priority", {"type": "integer", "format": "int32"}),
        ("spec.admissionChecks", {"maxItems": 8, "x-kubernetes-list-map-keys": ["name"]}),
        ("spec.admissionChecks[].timeoutSeconds", {"minimum": 1}),
        ("spec.admissionChecks[].onTimeout", {"enum": ["Retry", "Rejected"], "default": "Retry"}),
        ("spec.stopPolicy", {"enum": ["None", "Hold", "HoldAndDrain"], "default": "None"}),
        ("status.queueItemDetails.active", {"maxItems": 1000}),
    ],
)
def test_fields_of_a_queue_are_limited(path, fields):
    schema = at(QUEUES, path)
    assert {name: schema.get(name) for name in fields} == fields


def test_unknown_phases_and_check_states_can_be_stored():
    assert "enum" not in at(UNITS, "status.phase")
    assert "enum" not in at(UNITS, "status.admissionChecks[].state")


def test_the_description_of_the_phase_names_all_phases():
    assert all(phase in at(UNITS, "status.phase")["description"] for phase in Phase)


def test_the_protected_group_of_elastic_quotas_is_approved():
    assert QUOTAS["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("https://")
    assert QUOTAS["spec"]["names"]["shortNames"] == ["eq", "eqs"]


def test_koordinator_can_write_the_status_with_the_object():
    (version,) = QUOTAS["spec"]["versions"]
    assert "subresources" not in version
    assert set(at(QUOTAS, "spec")["properties"]) == {"max", "min"}
    assert set(at(QUOTAS, "status")["properties"]) == {"used"}


def test_there_are_two_crds_of_our_own():
    assert sorted(path.name for path in (BASE / "crds").glob("q*.yaml")) == [
        "queues.yaml",
        "queueunits.yaml",
    ]
