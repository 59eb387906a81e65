"""An unmodified kubectl talks to the simulated API server as to any other."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from kq.sim.access import Access
from kq.sim.api.server import ApiServer
from kq.sim.http import HttpFront

CRDS = Path(__file__).parents[2] / "manifests" / "kustomize" / "base" / "crds"
QUEUE = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: Queue
metadata: {name: q, labels: {team: a}}
spec: {queuePolicy: Priority, priority: 3}
"""
UNIT = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: QueueUnit
metadata: {name: u}
spec:
  queue: q
  priority: 5
  consumerRef: {apiVersion: batch/v1, kind: Job, name: j, namespace: default}
  podSet: [{name: main, count: 1, template: {spec: {containers: [{name: m, image: x}]}}}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: m, image: busybox, resources: {requests: {cpu: 1000m}}}]
"""
MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}"
STATUS = {
    "phase": "Enqueued",
    "message": "waits",
    "lastUpdateTime": "2026-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """The kubectl of the control plane, with a server to talk to and a cache of its own."""

    command: Path
    folder: Path

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        kubeconfig, cache = self.folder / "kubeconfig", self.folder / "cache"
        return await asyncio.create_subprocess_exec(
            str(self.command),
            f"--kubeconfig={kubeconfig}",
            f"--cache-dir={cache}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                **os.environ,
                "KUBE_EDITOR": "sed -i s/busybox/other/",
                "TMPDIR": str(self.folder),
            },
        )

    async def run(self, *arguments: str, text: str = "") -> Done:
        process = await self.start(*arguments)
        out, err = await process.communicate(text.encode())
        return Done(process.returncode or 0, out.decode(), err.decode())

    async def ok(self, *arguments: str, text: str = "") -> str:
        done = await self.run(*arguments, text=text)
        assert done.code == 0, done
        return done.out

    async def refused(self, *arguments: str, text: str = "") -> str:
        done = await self.run(*arguments, text=text)
        assert done.code != 0, done
        return done.err


@pytest.fixture
async def kubectl(binaries: Path, tmp_path: Path) -> AsyncIterator[Kubectl]:
    """A kubectl with a server that serves kq's kinds."""
    server = ApiServer(clock=lambda: datetime.now(UTC), random=Random(7))  # noqa: TID251
    await server.start()
    access = Access.issue(server.clock())
    async with HttpFront(server, tokens=access.tokens, tls=access.context()).serving() as port:
        access.write_kubeconfig(tmp_path / "kubeconfig", port=port)
        made = Kubectl(binaries / "kubectl", tmp_path)
        await made.ok("apply", "-k", str(CRDS))
        yield made


def rows(table: str) -> list[list[str]]:
    """The cells of a printed table, ages as `AGE`."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()]
    return [[re.sub(r"^\d+[smhd]$", "AGE", cell) for cell in line] for line in lines]


async def test_apply_makes_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    assert (
        await kubectl.ok("apply", "-f", "-", text=QUEUE) == "queue.scheduling.x-k8s.io/q created\n"
    )
    again = await kubectl.ok("apply", "-f", "-", text=QUEUE)
    assert again == "queue.scheduling.x-k8s.io/q unchanged\n"
    changed = QUEUE.replace("priority: 3", "priority: 4")
    diff = await kubectl.run("diff", "-f", "-", text=changed)
    assert (diff.code, "-  priority: 3\n+  priority: 4\n" in diff.out) == (1, True)
    assert await kubectl.ok("apply", "-f", "-", text=changed) == (
        "queue.scheduling.x-k8s.io/q configured\n"
    )
    fewer = changed.replace(", labels: {team: a}", "")
    await kubectl.ok("apply", "-f", "-", text=fewer)
    shown = json.loads(await kubectl.ok("get", "queue", "q", "-o", "json"))
    assert (shown["spec"]["priority"], shown["metadata"].get("labels")) == (4, None)


async def test_units_are_shown_in_the_columns_of_their_crd(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=f"{QUEUE}---{UNIT}")
    patch = json.dumps({"status": STATUS})
    await kubectl.ok("patch", "qu", "u", "--type=merge", "--subresource=status", "-p", patch)
    assert rows(await kubectl.ok("get", "queueunit")) == [
        ["NAME", "PHASE", "PRIORITY", "ADMISSIONS", "JOBTYPE"],
        ["u", "Enqueued", "5", "Job"],
    ]
    assert rows(await kubectl.ok("get", "qu", "-o", "wide"))[1] == [
        "u", "Enqueued", "5", "Job", "q", "waits", "AGE",
    ]  # fmt: skip
    columns = "custom-columns=NAME:.metadata.name,JOB:.spec.consumerRef.name"
    assert rows(await kubectl.ok("get", "qu", "-A", "-o", columns)) == [["NAME", "JOB"], ["u", "j"]]
    described = await kubectl.ok("describe", "queueunit", "u")
    assert re.search(r"Phase: +Enqueued", described)
    assert re.search(r"Events: +<none>", described)
    explained = await kubectl.ok("explain", "queueunit.spec.priority")
    assert "FIELD: priority <integer>" in explained


async def test_every_type_of_patch_is_taken(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=f"{UNIT}---{JOB}")
    await kubectl.ok("patch", "qu", "u", "--type=merge", "-p", '{"spec":{"priority":7}}')
    operations = '[{"op":"test","path":"/spec/priority","value":7},'
    operations += '{"op":"replace","path":"/spec/priority","value":8}]'
    await kubectl.ok("patch", "qu", "u", "--type=json", "-p", operations)
    assert await kubectl.ok("get", "qu", "u", "-o", "jsonpath={.spec.priority}") == "8"
    assert "server rejected our request" in await kubectl.refused(
        "patch", "qu", "u", "--type=json", "-p", operations
    )
    assert "must be of type integer" in await kubectl.refused(
        "patch", "qu", "u", "--type=merge", "-p", '{"spec":{"priority":"x"}}'
    )
    assert "strategic-merge-patch+json is not supported" in await kubectl.refused(
        "patch", "qu", "u", "-p", "{}"
    )
    container = {"name": "m", "resources": {"requests": {"memory": "1024Mi"}}}
    strategic = json.dumps({"spec": {"template": {"spec": {"containers": [container]}}}})
    await kubectl.ok("patch", "job", "j", "-p", strategic)
    path = "jsonpath={.spec.template.spec.containers[*].resources.requests}"
    assert json.loads(await kubectl.ok("get", "job", "j", "-o", path)) == {
        "cpu": "1",
        "memory": "1Gi",
    }


async def test_two_appliers_share_an_object_and_conflicts_are_told(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    await kubectl.ok(*apply, "--field-manager=one", text=MAP)
    other = MAP.replace("a: '1', b: '2'", "b: '3'")
    told = await kubectl.refused(*apply, "--field-manager=two", text=other)
    assert 'conflict with "one": .data.b' in told
    more = MAP.replace("a: '1', b: '2'", "d: '4'")
    await kubectl.ok(*apply, "--field-manager=two", text=more)
    await kubectl.ok(*apply, "--field-manager=one", text=MAP.replace("a: '1', ", ""))
    shown = json.loads(await kubectl.ok("get", "cm", "c", "-o", "json", "--show-managed-fields"))
    assert shown["data"] == {"b": "2", "d": "4"}
    # The newest comes last, if a second has passed in between.
    assert {each["manager"] for each in shown["metadata"]["managedFields"]} == {"one", "two"}


async def test_labels_annotations_and_edits_are_written(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=f"{MAP}\n---{JOB}")
    await kubectl.ok("label", "cm", "c", "x=y")
    assert "already has a value (y)" in await kubectl.refused("label", "cm", "c", "x=z")
    await kubectl.ok("annotate", "cm", "c", "k=busybox")
    assert rows(await kubectl.ok("get", "cm", "-l", "x=y"))[1] == ["c", "2", "AGE"]
    await kubectl.ok("label", "cm", "c", "x-")
    assert await kubectl.ok("get", "cm", "-l", "x=y", "-o", "name") == ""
    assert await kubectl.ok("edit", "cm", "c") == "configmap/c edited\n"
    assert "k: other" in await kubectl.ok("get", "cm", "c", "-o", "yaml")
    assert (await kubectl.run("edit", "cm", "c")).err == "Edit cancelled, no changes made.\n"
    assert 'jobs.batch "j" is invalid' in await kubectl.refused("edit", "job", "j")
    assert await kubectl.ok("replace", "-f", "-", text=MAP) == "configmap/c replaced\n"


async def test_kubectl_creates_in_protobuf(kubectl: Kubectl) -> None:
    await kubectl.ok("create", "namespace", "n")
    create = ("create", "-n", "n")
    await kubectl.ok(*create, "configmap", "c", "--from-literal=a=b")
    await kubectl.ok(*create, "secret", "generic", "s", "--from-literal=a=b")
    await kubectl.ok(*create, "quota", "q", "--hard=pods=3,cpu=2000m")
    await kubectl.ok(*create, "job", "j", "--image=busybox", "--", "sleep", "5")
    await kubectl.ok("create", "priorityclass", "high", "--value=5")
    shown = await kubectl.ok("get", "cm,secret,quota,job", "-n", "n", "-o", "json")
    found = {each["kind"]: each for each in json.loads(shown)["items"]}
    assert found["ConfigMap"]["data"] == {"a": "b"}
    assert found["Secret"]["data"] == {"a": "Yg=="}
    assert found["ResourceQuota"]["spec"] == {"hard": {"pods": "3", "cpu": "2"}}
    [container] = found["Job"]["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["command"]) == ("busybox", ["sleep", "5"])
    assert (found["Job"]["spec"]["parallelism"], found["Job"]["spec"]["suspend"]) == (1, False)
    assert rows(await kubectl.ok("get", "pc", "high"))[1][:3] == ["high", "5", "false"]
    assert '"c" already exists' in await kubectl.refused(
        *create, "configmap", "c", "--from-literal=a=b"
    )


async def test_what_is_wrong_is_told_as_a_real_server_tells_it(kubectl: Kubectl) -> None:
    unknown = JOB.replace("suspend: true", "suspended: true")
    assert 'strict decoding error: unknown field "spec.suspended"' in await kubectl.refused(
        "create", "-f", "-", text=unknown
    )
    assert 'Required value: valid values: "OnFailure", "Never"' in await kubectl.refused(
        "create", "-f", "-", text=JOB.replace("      restartPolicy: Never\n", "")
    )
    assert await kubectl.refused("get", "cm", "none") == (
        'Error from server (NotFound): configmaps "none" not found\n'
    )
    assert "doesn't have a resource type" in await kubectl.refused("get", "nothing")


async def test_jobs_and_events_are_described(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=JOB)
    job = json.loads(await kubectl.ok("get", "job", "j", "-o", "json"))
    about = {"kind": "Job", "name": "j", "namespace": "default", "uid": job["metadata"]["uid"]}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {**about, "apiVersion": "batch/v1"},
        "reason": "Queued",
        "message": "it waits",
        "type": "Normal",
        "source": {"component": "kq"},
        "lastTimestamp": job["metadata"]["creationTimestamp"],
        "count": 1,
    }
    await kubectl.ok("create", "-f", "-", text=json.dumps(event))
    described = await kubectl.ok("describe", "job", "j")
    assert re.search(r"Suspend: +true", described)
    assert re.search(r"Normal +Queued +\S+ +kq +it waits", described)
    assert rows(await kubectl.ok("get", "jobs", "-o", "wide"))[1][:2] == ["j", "Running"]
    assert rows(await kubectl.ok("get", "events"))[1][1:] == [
        "Normal", "Queued", "job/j", "it waits",
    ]  # fmt: skip


async def test_a_watch_shows_each_change_as_a_row(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=UNIT)
    watch = await kubectl.start("get", "qu", "-w")
    assert watch.stdout is not None
    assert rows((await watch.stdout.readline()).decode())[0][:2] == ["NAME", "PHASE"]
    assert rows((await watch.stdout.readline()).decode()) == [["u", "5", "Job"]]
    await kubectl.ok("patch", "qu", "u", "--type=merge", "-p", '{"spec":{"priority":9}}')
    assert rows((await watch.stdout.readline()).decode()) == [["u", "9", "Job"]]
    watch.terminate()
    await watch.communicate()


async def test_wait_ends_when_its_condition_is_met(kubectl: Kubectl) -> None:
    await kubectl.ok("apply", "-f", "-", text=MAP)
    waiting = await kubectl.start("wait", "--for=jsonpath={.data.a}=9", "cm/c", "--timeout=20s")
    await kubectl.ok("patch", "cm", "c", "-p", '{"data":{"a":"9"}}')
    out, _ = await waiting.communicate()
    assert (waiting.returncode, out) == (0, b"configmap/c condition met\n")
    gone = await kubectl.start("wait", "--for=delete", "cm/c", "--timeout=20s")
    assert await kubectl.ok("delete", "cm", "c") == 'configmap "c" deleted from default namespace\n'
    await gone.communicate()
    assert gone.returncode == 0


async def test_who_asks_is_told_who_they_are_and_that_they_may_do_everything(
    kubectl: Kubectl,
) -> None:
    assert await kubectl.ok("auth", "can-i", "create", "jobs") == "yes\n"
    assert rows(await kubectl.ok("auth", "can-i", "--list"))[1] == ["*.*", "[]", "[]", "[*]"]
    who = rows(await kubectl.ok("auth", "whoami"))
    assert who[1] == ["Username", "kubernetes-admin"]
    acting = await kubectl.ok("auth", "whoami", "--as=somebody", "-o", "jsonpath={..username}")
    assert acting == "somebody"


async def test_what_a_client_applied_the_server_may_apply_from_then_on(kubectl: Kubectl) -> None:
    held = JOB.replace("1000m", "'1'")
    await kubectl.ok("apply", "-f", "-", text=held)
    resumed = held.replace("suspend: true", "suspend: false")
    differs = await kubectl.run("diff", "--server-side", "-f", "-", text=resumed)
    assert "-  suspend: true\n+  suspend: false\n" in differs.out
    assert await kubectl.ok("apply", "--server-side", "-f", "-", text=resumed) == (
        "job.batch/j serverside-applied\n"
    )
    assert await kubectl.ok("get", "job", "j", "-o", "jsonpath={.spec.suspend}") == "false"
    assert "configured" in await kubectl.ok("apply", "-f", "-", text=held)


@pytest.mark.parametrize("command", ["logs p", "exec p -- ls", "attach p", "port-forward p 80"])
async def test_pods_that_run_nothing_say_so(kubectl: Kubectl, command: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "x"}]}}
    pod |= {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}}
    await kubectl.ok("create", "-f", "-", text=json.dumps(pod))
    status = json.dumps({"status": {"phase": "Running"}})
    await kubectl.ok("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", status)
    told = await kubectl.refused(*command.split())
    assert "pods of a simulated cluster run no commands and write no logs" in told


async def test_a_stranger_is_not_let_in(kubectl: Kubectl) -> None:
    told = await kubectl.run("get", "ns", "--token=wrong")
    assert (told.code, "must be logged in" in told.err) == (1, True)
    acting = await kubectl.ok("get", "--raw", "/readyz", "--as=somebody")
    assert acting == "ok"
