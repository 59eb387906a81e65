"""One look at a Workflow that may go on: nodes that begin and end, and the pods that they lack."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kq.core.kinds import Object
from kq.sim.argo import depends
from kq.sim.argo.nodes import BAD, Node, Nodes, is_fulfilled, is_retried
from kq.sim.argo.pods import is_of_end, is_of_pod, pod_name, pod_of, told_by
from kq.sim.argo.times import ends_at, is_late
from kq.sim.control.objects import place_of
from kq.sim.control.writes import Create

LATE: Final = "Step exceeded its deadline"


class Run:
    """What becomes of the nodes; `lacking` are the pods that are to be made."""

    def __init__(self, workflow: Object, pods: Sequence[Object], now: datetime) -> None:
        self.nodes = Nodes(workflow, now)
        self.lacking: list[Create] = []
        self.stopped: list[Object] = []
        """Pods that are to end before their time."""
        self._workflow = workflow
        self._name = place_of(workflow)[1]
        self._spec: Mapping[str, Any] = workflow["spec"]
        self._pods = {place_of(each)[1]: each for each in pods}
        self._now = now
        self._is_late = is_late(workflow, now)

    def look(self) -> None:
        """Takes in what has become of the pods."""
        for node in list(self.nodes.of_type("Pod")):
            if is_fulfilled(node):
                continue
            said = dict(told_by(node, self._pod_of(node), self._now))
            self.nodes.mark(node, said.pop("phase", node["phase"]), said.pop("message", ""))
            node.update(said)

    def halt(self) -> None:
        """Ends what runs, if the Workflow is to stop or is too late; not what its end runs."""
        shutdown = self._spec.get("shutdown")
        for node in list(self.nodes.of_type("Pod")):
            pod = self._pod_of(node)
            is_spared = is_of_end(self._name, node) and shutdown != "Terminate"
            if is_fulfilled(node) or pod is None or is_spared:
                continue
            if shutdown:
                self.nodes.mark(node, "Failed", f"workflow shutdown with strategy:  {shutdown}")
                self.stopped.append(pod)
            elif self._is_late:
                self.nodes.mark(node, "Failed", LATE)
                self.stopped.append(pod)

    def go_on(self) -> Node | None:
        """Begins what can begin; the root once all is at its end, else None."""
        root = self._execute(self._name, self._spec["entrypoint"])
        if not is_fulfilled(root):
            return None
        hook = self._spec.get("onExit")
        if hook and self._spec.get("shutdown") != "Terminate":
            last = self._execute(f"{self._name}.onExit", hook, shown=f"{self._name}.onExit")
            if not is_fulfilled(last):
                return None
            return last if last["phase"] in BAD and root["phase"] not in BAD else root
        return root

    def _execute(
        self, name: str, template_name: str, *, boundary: str = "", shown: str = ""
    ) -> Node:
        node = self.nodes.get(name)
        if node is not None and is_fulfilled(node):
            return node
        template = self._template(template_name)
        said = {"boundaryID": boundary, "templateName": template_name, "shown": shown}
        if "retryStrategy" in template and not name.endswith(")"):
            return self._retry(name, template, said)
        if "steps" in template:
            node = node or self.nodes.add(name, "Steps", "Running", **said)
            return self._steps(node, template)
        if "dag" in template:
            node = node or self.nodes.add(name, "DAG", "Running", **said)
            return self._dag(node, template)
        if "suspend" in template:
            node = node or self.nodes.add(name, "Suspend", "Running", **said)
            return self._suspend(node, template)
        if is_of_pod(template):
            return self._pod(name, template, said)
        message = f"template {template_name} is of no kind that is played"
        return self.nodes.add(name, "Skipped", "Error", message=message, **said)

    def _steps(self, node: Node, template: Object) -> Node:
        """Groups of steps one after the other."""
        before: list[Node] = []
        for index, steps in enumerate(template["steps"]):
            group = self._group(f"{node['name']}[{index}]", node, steps)
            for each in before or [node]:
                self.nodes.put_under(each, group)
            if not is_fulfilled(group):
                return node
            before = [self.nodes.by_id[each] for each in self.nodes.outbound(group)]
            if group["phase"] in BAD or index == len(template["steps"]) - 1:
                return self._end(node, group["phase"], group.get("message", ""), before)
        return self._end(node, "Succeeded", "", [])

    def _group(self, name: str, steps_node: Node, steps: Sequence[Object]) -> Node:
        group = self.nodes.get(name)
        if group is None:
            shown = name.removeprefix(steps_node["name"])
            group = self.nodes.add(
                name, "StepGroup", "Running", boundaryID=steps_node["id"], shown=shown, nodeFlag={}
            )
        elif is_fulfilled(group):
            return group
        children = []
        for step in steps:
            child = self._execute(
                f"{name}.{step['name']}",
                step["template"],
                boundary=steps_node["id"],
                shown=step["name"],
            )
            self.nodes.put_under(group, child)
            children.append(child)
        if all(map(is_fulfilled, children)):
            failed = next((each for each in children if each["phase"] in BAD), None)
            if failed is None:
                self.nodes.mark(group, "Succeeded")
            else:
                self.nodes.mark(group, "Failed", f"child '{failed['id']}' failed")
        return group

    def _dag(self, node: Node, template: Object) -> Node:
        """Tasks as soon as what they wait for has ended."""
        tasks = {each["name"]: each for each in template["dag"]["tasks"]}
        for name in depends.in_order(tasks):
            self._task(node, tasks[name], tasks)
        found = {name: self.nodes.get(f"{node['name']}.{name}") for name in tasks}
        named = {each for task in tasks.values() for each in depends.awaited(depends.text_of(task))}
        targets = [found[name] for name in tasks if name not in named]
        ended = [each for each in targets if each is not None and is_fulfilled(each)]
        if len(ended) < len(targets):
            return node
        phases = {each["phase"] for each in found.values() if each is not None}
        return self._end(node, "Failed" if phases & BAD else "Succeeded", "", ended)

    def _task(self, dag: Node, task: Object, tasks: Mapping[str, Object]) -> None:
        text, name = depends.text_of(task), f"{dag['name']}.{task['name']}"
        waits_for = [self.nodes.get(f"{dag['name']}.{each}") for each in depends.awaited(text)]
        ended = [each for each in waits_for if each is not None and is_fulfilled(each)]
        if len(ended) < len(waits_for):
            return
        node = self.nodes.get(name)
        phases = {each["displayName"]: each["phase"] for each in ended}
        if node is None and text and not depends.is_met(text, phases):
            node = self.nodes.add(
                name,
                "Skipped",
                "Omitted",
                boundaryID=dag["id"],
                templateName=task["template"],
                message="omitted: depends condition not met",
                shown=task["name"],
            )
        else:
            node = self._execute(name, task["template"], boundary=dag["id"], shown=task["name"])
        for each in ended or [dag]:
            self.nodes.put_under(each, node)

    def _suspend(self, node: Node, template: Object) -> Node:
        """Waits for somebody, or for its time."""
        if self._spec.get("shutdown"):
            strategy = self._spec["shutdown"]
            self.nodes.mark(node, "Failed", f"workflow shutdown with strategy: {strategy}")
        until = ends_at(node, template["suspend"])
        if until is not None and self._now >= until:
            self.nodes.mark(node, "Succeeded")
        return node

    def _retry(self, name: str, template: Object, said: Mapping[str, Any]) -> Node:
        node = self.nodes.get(name) or self.nodes.add(name, "Retry", "Running", **said)
        strategy = template["retryStrategy"] or {}
        limit = strategy.get("limit")
        tries = len(node.get("children") or ()) or 1
        while True:
            attempt = f"{name}({tries - 1})"
            child = self._execute(
                attempt,
                template["name"],
                boundary=said["boundaryID"],
                shown=f"{node['displayName']}({tries - 1})",
            )
            self.nodes.put_under(node, child)
            if not is_fulfilled(child):
                return node
            if self._spec.get("shutdown") or not is_retried(child, strategy):
                return self._end(node, child["phase"], child.get("message", ""), [child])
            if limit is not None and tries > int(limit):
                return self._end(node, child["phase"], "No more retries left", [child])
            tries += 1

    def _pod(self, name: str, template: Object, said: Mapping[str, Any]) -> Node:
        node = self.nodes.get(name)
        strategy = self._spec.get("shutdown")
        is_spared = strategy != "Terminate" and is_of_end(self._name, {"name": name})
        if strategy and node is None and not is_spared:
            message = f"workflow shutdown with strategy: {strategy}"
            return self.nodes.add(name, "Pod", "Failed", message=message, **said)
        is_new = node is None
        node = node or self.nodes.add(name, "Pod", "Pending", taskResultSynced=True, **said)
        if self._pod_of(node) is None:
            if not self._is_late:
                self.lacking.append(pod_of(self._workflow, node, template))
            elif not is_new:
                self.nodes.mark(node, "Failed", LATE)
        return node

    def _end(self, node: Node, phase: str, message: str, last: Sequence[Node]) -> Node:
        node["outboundNodes"] = [id_ for each in last for id_ in self.nodes.outbound(each)]
        self.nodes.mark(node, phase, message if phase in BAD else "")
        return node

    def _template(self, name: str) -> Object:
        listed: Sequence[Object] = self._spec["templates"]
        return next((each for each in listed if each["name"] == name), {"name": name})

    def _pod_of(self, node: Node) -> Object | None:
        template = node.get("templateName", "")
        return self._pods.get(pod_name(self._name, node["name"], template))
