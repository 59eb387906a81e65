import pytest
from cluster_objects import NOW, came, changed, job, pod, view_of, went, written

from kq.sim.cluster.quotas import charged, is_in_scope, refusal, usage_of
from kq.sim.cluster.resourcequota import QuotaController
from kq.sim.control.controller import Due, Key
from kq.sim.control.objects import JOBS, PODS
from kq.sim.control.view import View

KEY = Key("n", "q")


def quota(hard, *, used=None, **spec):
    found = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "n", "uid": "quota", "resourceVersion": "1"},
        "spec": {"hard": hard, **spec},
    }
    if used is not None:
        found["status"] = {"hard": hard, "used": used}
    return found


def asking(name="p", *, phase="Pending", requests=None, limits=None, **spec):
    resources = {"requests": requests or {}, "limits": limits or {}}
    container = {"name": "main", "image": "i", "resources": resources}
    return pod(name, phase=phase, node="", spec={"containers": [container], **spec})


def service(**spec):
    ports = [{"port": 80, "nodePort": 30080}, {"port": 81}]
    return {"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": ports, **spec}}


def claim(**spec):
    spec = {"resources": {"requests": {"storage": "1Ki"}}, **spec}
    return {"metadata": {"name": "c", "namespace": "n"}, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "obj", "used"),
    [
        pytest.param(JOBS, job(), {"count/jobs.batch": 1}, id="a job"),
        pytest.param(
            "configmaps", job(), {"count/configmaps": 1, "configmaps": 1}, id="named without count/"
        ),
        pytest.param(PODS, asking(), {"count/pods": 1, "pods": 1}, id="a pod that asks nothing"),
        pytest.param(PODS, asking(phase="Failed"), {"count/pods": 1}, id="a pod that has ended"),
        pytest.param(
            PODS,
            asking(requests={"cpu": "500m", "nvidia.com/gpu": "2"}, limits={"memory": "1Ki"}),
            {
                "count/pods": 1,
                "pods": 1,
                "cpu": 500,
                "requests.cpu": 500,
                "memory": 1024,
                "requests.memory": 1024,
                "limits.memory": 1024,
                "requests.nvidia.com/gpu": 2,
            },
            id="a pod that asks",
        ),
        pytest.param(
            "services",
            service(type="NodePort"),
            {"count/services": 1, "services": 1, "services.nodeports": 2},
            id="a service on ports of nodes",
        ),
        pytest.param(
            "services",
            service(type="LoadBalancer"),
            {
                "count/services": 1,
                "services": 1,
                "services.nodeports": 2,
                "services.loadbalancers": 1,
            },
            id="a balancer",
        ),
        pytest.param(
            "services",
            service(type="LoadBalancer", allocateLoadBalancerNodePorts=False),
            {
                "count/services": 1,
                "services": 1,
                "services.nodeports": 1,
                "services.loadbalancers": 1,
            },
            id="a balancer whose ports are its own",
        ),
        pytest.param("services", service(), {"count/services": 1, "services": 1}, id="a service"),
        pytest.param(
            "persistentvolumeclaims",
            claim(storageClassName="fast"),
            {
                "count/persistentvolumeclaims": 1,
                "persistentvolumeclaims": 1,
                "requests.storage": 1024,
                "fast.storageclass.storage.k8s.io/requests.storage": 1024,
                "fast.storageclass.storage.k8s.io/persistentvolumeclaims": 1,
            },
            id="a claim",
        ),
    ],
)
def test_an_object_uses_what_quotas_name(kind, obj, used):
    assert usage_of(kind, obj) == used


@pytest.mark.parametrize(
    ("limits", "made", "text"),
    [
        pytest.param(
            quota({"pods": "1"}, used={"pods": "1"}),
            asking(),
            "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
            id="one too many",
        ),
        pytest.param(
            quota(
                {"requests.cpu": "1", "memory": "1Gi", "limits.cpu": "2", "pods": "3"},
                used={"requests.cpu": "0", "memory": "0", "limits.cpu": "0", "pods": "0"},
            ),
            asking(requests={"cpu": "1200m", "memory": "2Gi"}, limits={"cpu": "4"}),
            "exceeded quota: q, requested: limits.cpu=4,memory=2Gi,requests.cpu=1200m,"
            " used: limits.cpu=0,memory=0,requests.cpu=0,"
            " limited: limits.cpu=2,memory=1Gi,requests.cpu=1",
            id="several at once",
        ),
        pytest.param(
            quota({"requests.cpu": "1", "memory": "1Gi", "limits.cpu": "2"}, used={}),
            asking(),
            "failed quota: q: must specify limits.cpu for: main; memory for: main;"
            " requests.cpu for: main",
            id="nothing said",
        ),
        pytest.param(
            quota({"requests.ephemeral-storage": "1Gi"}, used={"requests.ephemeral-storage": "0"}),
            asking(),
            "",
            id="storage is not demanded",
        ),
        pytest.param(
            quota({"cpu": "1"}, used={"cpu": "0"}),
            asking(requests={"cpu": "1"}, initContainers=[{"name": "first"}]),
            "failed quota: q: must specify cpu for: first",
            id="an init container says nothing",
        ),
        pytest.param(
            quota({"cpu": "1"}, used={"cpu": "0"}),
            asking(initContainers=[{"name": "before"}]),
            "failed quota: q: must specify cpu for: before,main",
            id="containers in the order of their names",
        ),
        pytest.param(
            quota({"limits.cpu": "1"}, used={"limits.cpu": "0"}),
            asking(resources={"requests": {"cpu": "1"}}),
            "",
            id="the pod level says something",
        ),
        pytest.param(
            quota({"pods": "2", "services": "1"}, used={}),
            asking(),
            "status unknown for quota: q, resources: pods",
            id="not counted yet",
        ),
        pytest.param(quota({"pods": "0"}), asking(), "", id="not seen by its controller yet"),
        pytest.param(quota({"pods": "2"}, used={"pods": "1"}), asking(), "", id="it fits"),
        pytest.param(
            quota({"pods": "0"}, used={"pods": "0"}, scopes=["Terminating"]),
            asking(),
            "",
            id="out of scope",
        ),
    ],
)
def test_a_quota_refuses_in_the_words_of_the_server(limits, made, text):
    assert refusal(limits, PODS, made) == text


BURSTS = asking(requests={"cpu": "1"})
URGENT = asking(priorityClassName="high")


@pytest.mark.parametrize(
    ("spec", "made", "fits"),
    [
        pytest.param({}, BURSTS, True, id="none"),
        pytest.param({"scopes": ["BestEffort"]}, asking(), True, id="best effort"),
        pytest.param({"scopes": ["BestEffort"]}, BURSTS, False, id="not best effort"),
        pytest.param({"scopes": ["NotBestEffort"]}, BURSTS, True, id="asks for something"),
        pytest.param(
            {"scopes": ["NotBestEffort"]},
            asking(resources={"requests": {"cpu": "1"}}),
            True,
            id="the pod level asks for something",
        ),
        pytest.param(
            {"scopes": ["BestEffort"]},
            asking(requests={"cpu": "0", "ephemeral-storage": "1"}, overhead={"cpu": "1"}),
            True,
            id="asks for nothing that counts",
        ),
        pytest.param({"scopes": ["Terminating"]}, asking(activeDeadlineSeconds=5), True, id="ends"),
        pytest.param({"scopes": ["NotTerminating"]}, asking(), True, id="does not end"),
        *(
            pytest.param(
                {
                    "scopeSelector": {
                        "matchExpressions": [
                            {"scopeName": "PriorityClass", "operator": operator, "values": ["high"]}
                        ]
                    }
                },
                URGENT,
                fits,
                id=f"priority {operator}",
            )
            for operator, fits in (
                ("In", True),
                ("NotIn", False),
                ("Exists", True),
                ("DoesNotExist", False),
            )
        ),
    ],
)
def test_a_quota_is_about_pods_in_its_scope(spec, made, fits):
    assert is_in_scope(quota({}, **spec), PODS, made) is fits
    assert is_in_scope(quota({}, **spec), JOBS, job()) is not spec


def test_a_new_object_is_charged():
    limits = quota({"pods": "2", "cpu": "4"}, used={"pods": "1", "cpu": "500m"})
    made = asking(requests={"cpu": "1500m"})
    assert charged(limits, PODS, made)["used"] == {"pods": "2", "cpu": "2"}


def test_what_a_quota_does_not_name_is_not_charged():
    assert charged(quota({"pods": "2"}, used={"pods": "1"}), JOBS, job()) is None


def concerned(happened, *objects):
    return list(QuotaController().concerns(happened, view_of(*objects), NOW))


def test_a_quota_that_is_new_or_changed_is_counted():
    assert concerned(came(quota({"pods": "1"}))) == [Due(KEY)]
    assert concerned(came(quota({"pods": "1"}, used={"pods": "0"}))) == []


def test_quotas_are_counted_anew_when_something_is_freed():
    limits = quota({"pods": "1"}, used={"pods": "1"})
    live, over = asking(), asking(phase="Succeeded")
    assert concerned(went(live), limits) == [Due(KEY)]
    assert concerned(changed(live, over), limits) == [Due(KEY)]
    assert concerned(changed(over, over), limits) == []
    assert concerned(went(job()), limits) == []


def test_a_quota_says_what_is_in_use():
    limits = quota({"pods": "9", "requests.cpu": "4", "count/jobs.batch": "9"})
    pods = [
        asking("p", requests={"cpu": "500m"}),
        asking("q", phase="Failed", requests={"cpu": "1"}),
    ]
    [replace] = written(QuotaController().sync(KEY, view_of(limits, job(), *pods), NOW))
    assert replace.body["status"] == {
        "hard": limits["spec"]["hard"],
        "used": {"pods": "1", "requests.cpu": "500m", "count/jobs.batch": "1"},
    }


def test_a_quota_that_says_so_already_is_left_alone():
    limits = quota({"pods": "9"}, used={"pods": "0"})
    assert written(QuotaController().sync(KEY, view_of(limits), NOW)) == []
    assert written(QuotaController().sync(KEY, View(), NOW)) == []
