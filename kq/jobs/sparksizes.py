"""How large Spark makes the pods of an application (spec 12.5).

Sizes and numbers are Spark's, not Kubernetes': `512m` is half a gibibyte. What cannot be read
raises DecodeError in the words of M16; it never counts as 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

from kq.core import codec
from kq.core.kinds import Object
from kq.core.messages import m16
from kq.core.quantity import parse_quantity
from kq.errors import DecodeError, QuantityError
from kq.jobs.roles import told

MIB: Final = 2**20
LEAST_OVERHEAD: Final = 384 * MIB
FACTOR: Final = Fraction(1, 10)
FACTOR_OF_INTERPRETERS: Final = Fraction(4, 10)
ON_THE_JVM: Final = frozenset({"Java", "Scala"})
MOST_FACTOR: Final = 1000

_SIZE: Final = re.compile(r"([0-9]{1,15})(?:([kmgt])b?)?", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_WHOLE: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{0,9}\.?[0-9]{0,18}", re.ASCII)
_GPU: Final = re.compile(r"spark\.(?:driver|executor)\.resource\.([^.]{1,63})\.amount")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that an application sets, and where: the key is fit for a message."""

    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Role:
    """The driver or the executors: their spec, where it stands, and Spark's own settings."""

    name: str
    application: Object
    conf: Mapping[str, Any]

    @property
    def spec(self) -> Object:
        """`spec.driver` or `spec.executor`."""
        return codec.mapping(self.application, self.name)

    def setting(self, field: str, *conf: str) -> Setting | None:
        """What the field says; where it is absent, the first of Spark's keys; None if nobody."""
        if self.spec.get(field) is not None:
            return Setting(f"spec.{self.name}.{field}", self.spec[field])
        return self.configured(*conf)

    def configured(self, *conf: str) -> Setting | None:
        """What the first of Spark's keys says that is set."""
        return next(
            (Setting(f"spec.sparkConf.{key}", self.conf[key]) for key in conf if key in self.conf),
            None,
        )


def requests(role: Role) -> dict[str, str]:
    """What the Spark container of the role's pods requests."""
    memory = memory_of(role) + overhead_of(role)
    if role.name == "executor":
        memory += _beside_the_heap(role)
    return {"cpu": _cpu_of(role), "memory": str(memory), **_gpus_of(role)}


def limits(role: Role, requested: Mapping[str, str]) -> dict[str, str]:
    """Its limits: those of the request, but for cpu, which has one only if it is set."""
    key = f"spark.kubernetes.{role.name}.limit.cores"
    core_limit = role.setting("coreLimit", key)
    set_limit = {} if core_limit is None else {"cpu": _quantity(core_limit)}
    return {**{name: each for name, each in requested.items() if name != "cpu"}, **set_limit}


def memory_of(role: Role) -> int:
    """The heap."""
    setting = role.setting("memory", f"spark.{role.name}.memory")
    return 1024 * MIB if setting is None else size_of(setting, MIB)


def overhead_of(role: Role) -> int:
    """What Spark adds to the heap."""
    setting = role.setting("memoryOverhead", f"spark.{role.name}.memoryOverhead")
    if setting is not None:
        return size_of(setting, MIB)
    return max(LEAST_OVERHEAD, int(memory_of(role) * _factor_of(role) / MIB) * MIB)


def size_of(setting: Setting, unit: int) -> int:
    """The bytes of one of Spark's sizes; without a suffix it is of that unit."""
    text = setting.value
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise DecodeError(
            m16(setting.key, told(setting.value), "a whole number with k, m, g or t, or none")
        )
    return int(match[1]) * (_UNITS[match[2].lower()] if match[2] else unit)


def whole(setting: Setting, least: int = 0) -> int:
    """A whole number, also as a text."""
    number = setting.value
    if isinstance(number, str) and _WHOLE.fullmatch(number.strip()):
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        wanted = f"a whole number of {least} or more"
        raise DecodeError(m16(setting.key, told(setting.value), wanted))
    return number


def is_true(setting: Setting | None) -> bool:
    """Whether a switch of Spark's is on."""
    return setting is not None and str(setting.value).strip().lower() == "true"


def _cpu_of(role: Role) -> str:
    request = role.setting("coreRequest", f"spark.kubernetes.{role.name}.request.cores")
    if request is not None:
        return _quantity(request)
    cores = role.setting("cores", f"spark.{role.name}.cores")
    return "1" if cores is None else str(whole(cores, 1))


def _quantity(setting: Setting) -> str:
    """A quantity of Kubernetes."""
    wanted = "a quantity of 0 or more"
    try:
        quantity = parse_quantity(setting.value)
    except QuantityError as err:
        raise DecodeError(m16(setting.key, told(setting.value), wanted)) from err
    if quantity.nano < 0:
        raise DecodeError(m16(setting.key, told(setting.value), wanted))
    return str(quantity)


def _factor_of(role: Role) -> Fraction:
    keys = (f"spark.{role.name}.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor")
    given = role.application.get("memoryOverheadFactor")
    setting = role.configured(*keys)
    if given not in (None, ""):
        setting = Setting("spec.memoryOverheadFactor", given)
    if setting is None:
        on_the_jvm = codec.strings(role.application).get("type") in ON_THE_JVM
        return FACTOR if on_the_jvm else FACTOR_OF_INTERPRETERS
    text = setting.value
    text = repr(text) if isinstance(text, int | float) else text
    try:
        fits = isinstance(text, str) and _NUMBER.fullmatch(text.strip())
        factor = Decimal(text) if fits else Decimal(-1)
    except InvalidOperation:
        factor = Decimal(-1)
    if not 0 <= factor <= MOST_FACTOR:
        wanted = f"a number from 0 to {MOST_FACTOR}"
        raise DecodeError(m16(setting.key, told(setting.value), wanted))
    return Fraction(factor)


def _beside_the_heap(role: Role) -> int:
    """Memory of an executor that is outside its heap and not overhead."""
    total = 0
    if is_true(role.configured("spark.memory.offHeap.enabled")):
        off_heap = role.configured("spark.memory.offHeap.size")
        total += 0 if off_heap is None else size_of(off_heap, 1)
    python = role.configured("spark.executor.pyspark.memory")
    return total + (0 if python is None else size_of(python, MIB))


def _gpus_of(role: Role) -> dict[str, str]:
    """Devices, by the name of their resource."""
    gpu = codec.mapping(role.spec, "gpu")
    name = gpu.get("name")
    if isinstance(name, str) and name:
        where = f"spec.{role.name}.gpu.quantity"
        return {name: str(whole(Setting(where, gpu.get("quantity"))))}
    devices: dict[str, str] = {}
    for key in role.conf:
        match = _GPU.fullmatch(key)
        if match and key.startswith(f"spark.{role.name}."):
            vendor = role.conf.get(key.removesuffix("amount") + "vendor")
            amount = str(whole(Setting(f"spec.sparkConf.{key}", role.conf[key])))
            devices |= {f"{vendor}/{match[1]}": amount} if vendor else {}
    return devices
