"""Scenes of jobs of Ray, Spark and Argo, played on a cluster: on any, or on a simulated one."""

import secrets

import scene_grounds
from controller_stage import Stage
from data_scenes import Part, Play
from data_stories import Story

from kq.kube.client import Client
from kq.sim.operators import operator_controllers, operator_kinds

NAMES = ("ray", "spark", "argo")


async def played(client: Client, part: Part) -> Story:
    """The story of a scene, played in a namespace of its own."""
    slug = part.scene.__name__.replace("_", "-")[:40].rstrip("-")
    stage = Stage(client, f"{slug}-{secrets.token_hex(3)}", part.watched)
    await stage.open()
    try:
        await part.scene(Play(stage, part.kind))
    finally:
        await stage.close()
    return Story.of(stage.namespace, stage.happened)


async def simulated(part: Part) -> tuple[Story, list[Exception]]:
    """What the simulated operators do in a scene, and what they stumbled over."""
    return await scene_grounds.simulated(
        lambda client, clock: played(client, part),
        operators=operator_controllers(NAMES),
        kinds=operator_kinds(NAMES),
    )
