"""What a file says of the environment that it was recorded in: robots, rate, controllers, task."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gristmill.formats.hdf5 import attributes
from gristmill.formats.hdf5.tree import Group

# robomimic.envs.env_base.EnvType; Isaac Lab calls itself a gym environment.
_ROBOSUITE = 1
_LARGEST = 1e9


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the attributes of `data` say; empty where they say nothing."""

    name: str = ""
    rate_hz: float | None = None
    robots: tuple[str, ...] = ()
    controllers: tuple[tuple[str, bool], ...] = ()  # of each arm: type, and whether actions are steps
    robosuite: bool = False
    task: str = ""
    broken: bool = False  # env_args is no JSON object
    args: Mapping[str, Any] | None = None  # as found


def of(data: Group) -> Environment:
    """Read the attributes of the group `data`."""
    args = attributes.table(data, "env_args")
    more = attributes.table(data, "env_info") or {}  # robosuite's own recordings
    problem = attributes.table(data, "problem_info") or {}  # LIBERO
    kwargs = _mapping(args and args.get("env_kwargs")) or more
    robots = kwargs.get("robots", ())
    robots = (robots,) if isinstance(robots, str) else robots
    robots = tuple(r for r in robots if isinstance(r, str)) if isinstance(robots, list | tuple) else ()
    name = next((n for n in ((args or {}).get("env_name"), attributes.text(data, "env")) if isinstance(n, str)), "")
    return Environment(
        name=name,
        rate_hz=_rate(args or {}, kwargs),
        robots=robots,
        controllers=tuple(_controllers(kwargs.get("controller_configs"), len(robots))),
        robosuite=bool(problem or more) or (args or {}).get("type") == _ROBOSUITE,
        task=_text(problem.get("language_instruction")) or _text((args or {}).get("env_lang")) or "",
        broken=args == {} and (attributes.text(data, "env_args") or "").strip() != "{}",
        args=args or None,
    )


def task_of(demo: Group) -> str:
    """What a demonstration's own attributes say of its task, or ""."""
    meta = attributes.table(demo, "ep_meta") or {}  # robocasa
    return _text(attributes.text(demo, "lang")) or _text(meta.get("lang")) or ""


def _rate(args: Mapping[str, Any], kwargs: Mapping[str, Any]) -> float | None:
    """Control steps a second: robosuite's `control_freq`, or Isaac Lab's time step and decimation."""
    rate = _number(kwargs.get("control_freq"))
    if rate is None:
        simulation = _mapping(args.get("sim_args"))
        step_s, steps = _number(simulation.get("dt")), _number(simulation.get("decimation"))
        rate = 1 / (step_s * steps) if step_s and steps else None
    return rate if rate is not None and 1e-3 <= rate <= 1e5 else None


def _controllers(configs: Any, robots: int) -> Iterator[tuple[str, bool]]:
    """Robosuite 1.4 has a controller a robot, later versions one a part of its body."""
    each = configs if isinstance(configs, list) else [configs] * max(1, robots)
    for config in map(_mapping, each):
        parts = [_mapping(part) for part in _mapping(config.get("body_parts")).values()] or [config]
        for part in parts:
            steps = part.get("input_type", "delta" if part.get("control_delta", True) else "absolute") == "delta"
            yield str(part.get("type", "")), steps


def _text(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        value = "".join(value) if max(map(len, value)) <= 1 else value[0]
    if isinstance(value, str) and value.startswith('"'):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    return value.strip() if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # A whole number in JSON may be too long for a float.
    return float(value) if 0 < value < _LARGEST and math.isfinite(value) else None
