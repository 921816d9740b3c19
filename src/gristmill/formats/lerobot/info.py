"""`meta/info.json`, checked: what cannot be read any way is an error, what is merely wrong is an issue."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gristmill.digest import text_digest
from gristmill.errors import CorpusError
from gristmill.finding import Issue, Kind
from gristmill.formats.files import CorpusFiles
from gristmill.formats.lerobot import layout
from gristmill.formats.lerobot.declaration import Feature, brief, parse_feature
from gristmill.formats.lerobot.documents import read_document
from gristmill.formats.lerobot.info_keys import needed_keys

NAME = "meta/info.json"
_MAX_RATE_HZ = 1e6


@dataclass(frozen=True, kw_only=True)
class Info:
    """`info.json` after checking. `raw` is the whole of it, unknown keys included."""

    version: str  # "v2.0", "v2.1" or "v3.0": how it is read
    rate_hz: float
    robot_type: str
    chunks_size: int
    features: tuple[Feature, ...]
    data_path: layout.Template
    video_path: layout.Template
    raw: Mapping[str, Any]
    issues: tuple[Issue, ...]

    @property
    def packed(self) -> bool:
        """Whether many episodes share a file."""
        return self.version.startswith("v3")

    def of_kind(self, kind: str) -> tuple[Feature, ...]:
        """The features of a kind, in their order."""
        return tuple(f for f in self.features if f.kind == kind)

    def digest(self) -> str:
        """Digest of what bears on every episode; totals and splits do not, for they grow with the corpus."""
        shape = [(f.key, f.dtype, f.shape, f.flat_names[0] if f.kind == "number" else ()) for f in self.features]
        return text_digest((self.version, repr(self.rate_hz), self.robot_type, repr(shape)))


def read_info(files: CorpusFiles) -> Info:
    """Read and check `meta/info.json`.

    Raises:
        CorpusError: it is absent, broken, or says something that cannot be read any way.
        UnsafeCorpusError: a path template leads outside the corpus.
    """
    raw, lossy = read_document(files.path(NAME), NAME)
    if not isinstance(raw, dict):
        raise CorpusError(f"{NAME} holds {brief(raw)}; expected an object with features, fps and codebase_version")
    if raw.get("storage_format") == "lance":
        raise CorpusError(f"{NAME}: storage_format is 'lance', which is not read; convert the dataset to v3.0 Parquet")
    issues: list[Issue] = []
    if lossy:
        message = f"{NAME} holds text that is not UTF-8; what could not be read was replaced"
        issues.append(_issue("not_utf8", message, "Write the file anew in UTF-8.", Kind.DEFECT))
    version = _version(raw, files, issues)
    features = _features(raw, issues)
    packed = version.startswith("v3")
    issues += needed_keys(raw, packed, any(f.dtype == "video" for f in features))
    chunks_size = 1000 if raw.get("chunks_size") is None else raw["chunks_size"]
    if type(chunks_size) is not int or chunks_size < 1:
        raise CorpusError(f"{NAME}: chunks_size is {brief(chunks_size)}; it must be a positive integer, usually 1000")
    robot_type = raw.get("robot_type") or ""
    if not isinstance(robot_type, str):
        issues.append(_issue("robot_type", f"robot_type is {brief(robot_type)}, not a name", "Write the robot's name."))
        robot_type = ""
    return Info(
        version=version,
        rate_hz=_rate(raw),
        robot_type=robot_type,
        chunks_size=chunks_size,
        features=features,
        data_path=_template(raw, "data_path", layout.DATA_V3 if packed else layout.DATA_V2),
        video_path=_template(raw, "video_path", layout.VIDEO_V3 if packed else layout.VIDEO_V2),
        raw=raw,
        issues=tuple(issues),
    )


def _version(raw: Mapping[str, Any], files: CorpusFiles, issues: list[Issue]) -> str:
    declared = raw.get("codebase_version")
    if declared is None:
        guess = _guess_version(files)
        issues.append(
            _issue(
                "codebase_version",
                f"{NAME} has no codebase_version; the layout is that of {guess}",
                f'Add "codebase_version": "{guess}"; LeRobot does not load the dataset without it.',
                Kind.DEFECT,
            )
        )
        return guess
    if isinstance(declared, str) and (match := re.fullmatch(r"v?(\d{1,3})\.(\d{1,3})", declared)):
        major, minor = int(match[1]), int(match[2])
        if (major, minor) in ((2, 0), (2, 1), (3, 0)):
            return f"v{major}.{minor}"
        if major == 3:
            issues.append(
                _issue("codebase_version", f"{NAME} says {declared}; it is read as v3.0", "Compare with the origin.")
            )
            return "v3.0"
    raise CorpusError(
        f"{NAME}: codebase_version is {brief(declared)}; v2.0, v2.1 and v3.0 are read, convert the dataset first"
    )


def _guess_version(files: CorpusFiles) -> str:
    if files.path("meta/episodes").is_dir():
        return "v3.0"
    return "v2.1" if files.stamp("meta/episodes_stats.jsonl") else "v2.0"


def _rate(raw: Mapping[str, Any]) -> float:
    fps = raw.get("fps")
    if (
        isinstance(fps, bool)
        or not isinstance(fps, (int, float))
        or not math.isfinite(fps)
        or not 0 < fps <= _MAX_RATE_HZ
    ):
        raise CorpusError(f"{NAME}: fps is {brief(fps)}; it must be a positive number of frames a second")
    return float(fps)


def _features(raw: Mapping[str, Any], issues: list[Issue]) -> tuple[Feature, ...]:
    declared = raw.get("features")
    if declared is None:
        raise CorpusError(f"{NAME} has no features; restore it from the dataset's origin")
    if not isinstance(declared, dict) or not declared:
        raise CorpusError(f"{NAME}: features is {brief(declared)}; expected an object of features by key")
    features = tuple(parse_feature(key, value, NAME) for key, value in declared.items())
    for feature in features:
        _check_feature(feature, issues)
        _check_details(feature.key, declared[feature.key], issues)
    return features


def _check_feature(feature: Feature, issues: list[Issue]) -> None:
    key = feature.key
    if not key or "/" in key:
        issues.append(
            _issue(
                "feature_key",
                f"the feature key {key!r} is empty or holds a slash, which LeRobot refuses",
                "Rename the feature in the data and in info.json.",
                Kind.DEFECT,
                key,
            )
        )
    if 0 in feature.shape:
        effect = "no picture is of that size" if feature.dtype == "video" else "it holds no numbers and was left out"
        issues.append(
            _issue(
                "zero_length",
                f"{key} is declared with shape {list(feature.shape)}: {effect}",
                "Remove the feature or correct its shape; LeRobot cannot load it.",
                Kind.DEFECT,
                key,
            )
        )
    elif feature.kind == "number" and (problem := feature.flat_names[1]):
        issues.append(
            _issue(
                "names",
                f"the names of {key} do not fit: {problem}; its numbers are shown by position",
                "Correct the names in info.json, so that joints can be told apart.",
                Kind.RISK,
                key,
            )
        )
    elif feature.why_unread.startswith("of dtype"):
        issues.append(
            _issue(
                "dtype",
                f"{key} is declared {feature.why_unread}; it was not read",
                "Declare a numpy name, image, video or string.",
                Kind.RISK,
                key,
            )
        )


def _check_details(key: str, declared: Mapping[str, Any], issues: list[Issue]) -> None:
    for name in ("info", "video_info"):
        details = declared.get(name)
        if details is not None and not isinstance(details, dict):
            issues.append(
                _issue(
                    "feature_info",
                    f"{name} of {key} is {brief(details)}, not an object; it was ignored",
                    f"Remove {name}, or write what it should say of the video.",
                    Kind.RISK,
                    key,
                )
            )


def _template(raw: Mapping[str, Any], key: str, usual: str) -> layout.Template:
    declared = raw.get(key)
    if declared is None:
        return layout.Template.parse(usual, f"{NAME}: {key}")
    if not isinstance(declared, str) or not declared:
        raise CorpusError(f"{NAME}: {key} is {brief(declared)}; expected a template such as {usual!r}")
    return layout.Template.parse(declared, f"{NAME}: {key}")


def _issue(code: str, message: str, fix: str, kind: Kind = Kind.TRAIT, channel: str | None = None) -> Issue:
    return Issue(check="schema", code=code, kind=kind, message=message, fix=fix, channel=channel, subject=NAME)
