"""A robot's model as one text that names no file: URDF or MJCF with its meshes, read from where the card allows.

What is handed to a physics engine comes from here, so the engine opens nothing itself. Document types and entities
are refused, includes and meshes are confined to stated folders, and everything that kinematics does not need
(pictures, sensors, actuators, plug-ins) is left out. A mesh that lacks leaves its geometry out and is told.
"""

from __future__ import annotations

import hashlib
import struct
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from xml.parsers import expat

from gristmill.errors import UnsafeCorpusError, UsageError

Kind = Literal["urdf", "mjcf"]

_LARGEST_TEXT = 32 << 20
_LARGEST_MESHES = 512 << 20  # all meshes of one model
_DEEPEST = 100  # elements within elements; the deepest real models have some 40 links in a row
_MOST_FACES = 200_000  # of a binary STL, as MuJoCo allows

_COMPILER = {"fusestatic": "false"}
_UNIT_INERTIA = {"ixx": "1", "iyy": "1", "izz": "1", "ixy": "0", "ixz": "0", "iyz": "0"}
_MJCF_SECTIONS = {"compiler", "default", "asset", "worldbody", "contact", "equality"}
_MJCF_FOLDERS = ("meshdir", "texturedir", "assetdir", "strippath")
_MJCF_IN_BODY = {"body", "frame", "joint", "freejoint", "geom", "site"}
_MJCF_IN_DEFAULT = {"default", "joint", "geom", "site", "mesh", "equality"}
_MJCF_UNFOLDS = {"attach", "replicate", "composite"}  # elements that stand for bodies


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """A model ready to compile."""

    path: Path
    kind: Kind
    xml: str  # names no file but those in `assets`
    assets: Mapping[str, bytes] = field(repr=False)
    missing: tuple[str, ...]  # "link: mesh, why" of each piece of geometry that was left out

    @property
    def digest(self) -> str:
        """Digest of everything that the model says."""
        mixed = hashlib.blake2b(self.xml.encode(), digest_size=16)
        for name, data in sorted(self.assets.items()):
            mixed.update(name.encode() + len(data).to_bytes(8, "little") + data)
        return mixed.hexdigest()


def read_model(path: Path, roots: Sequence[Path] = ()) -> ModelFiles:
    """The URDF or MJCF file at `path`, told by its content.

    Args:
        path: the model's file.
        roots: folders that it may refer to beside its own folder and the ROS package that it lies in. `package://NAME/`
            is looked for in roots that are called NAME or hold a folder of that name.

    Raises:
        UsageError: no such file, no URDF and no MJCF, or a part that cannot be taken over.
        UnsafeCorpusError: it declares a document type, or refers to a file outside of those folders.
    """
    folders = _Folders(path, roots)
    robot = _parsed(path)
    if robot.tag == "robot":
        return _urdf(path, robot, folders)
    if robot.tag in ("mujoco", "mujocoinclude"):
        return _mjcf(path, robot, folders)
    raise UsageError(f"{path}: neither a URDF (<robot>) nor an MJCF (<mujoco>) file; it begins with <{robot.tag}>")


def model_digest(path: Path, roots: Sequence[Path] = ()) -> str:
    """Digest of what a model's files say, or why they cannot be read: mended files give another one."""
    try:
        return read_model(path, roots).digest
    except (UsageError, UnsafeCorpusError) as error:
        return str(error)


def can_compile() -> bool:
    """Whether what makes use of a model, MuJoCo, is installed."""
    return find_spec("mujoco") is not None


class _Folders:
    """Where a model may read, and what its references mean."""

    def __init__(self, path: Path, roots: Sequence[Path]) -> None:
        self.path = path
        self.own = path.parent
        package = next((p for p in path.resolve().parents if (p / "package.xml").is_file()), None)
        self.roots = (*roots, *([package] if package else []))

    def file(self, reference: str, base: Path | None = None) -> Path:
        """The file that a reference means, whether it exists or not.

        Raises:
            UnsafeCorpusError: it lies elsewhere.
        """
        reference = reference.removeprefix("file://")
        if "://" in reference:
            scheme, _, rest = reference.partition("://")
            if scheme not in ("package", "model"):
                raise UnsafeCorpusError(
                    f"{self.path}: {reference!r} is not on this disk; give the file beside the model"
                )
            places = list(self._package(*rest.partition("/")[::2]))
        else:
            places = [(base or self.own) / reference]
        inside = [place for place in places if self._allowed(place)]
        if places and not inside:
            raise UnsafeCorpusError(
                f"{self.path}: {reference!r} lies outside the model's folders; name its own in the card's model_roots"
            )
        return next((p for p in inside if p.is_file()), inside[0] if inside else self.own / reference.split("/")[-1])

    def _package(self, name: str, rest: str) -> Iterator[Path]:
        for root in self.roots:
            if root.resolve().name == name:
                yield root / rest
            yield root / name / rest

    def _allowed(self, place: Path) -> bool:
        real = place.resolve()
        return any(real.is_relative_to(root.resolve()) for root in (self.own, *self.roots))


class _Meshes:
    """Meshes taken so far, under names of their own."""

    def __init__(self, folders: _Folders) -> None:
        self.folders = folders
        self.assets: dict[str, bytes] = {}
        self.missing: list[str] = []
        self._names: dict[Path, str] = {}
        self._size = 0

    def take(self, reference: str, owner: str, bases: Sequence[Path | None]) -> str | None:
        """The mesh's new name, or None when there is no mesh to be had; then why is kept.

        Args:
            reference: what the model says.
            owner: the link or mesh that says it.
            bases: folders that it may be relative to, in order; None is the model's own.
        """
        places = [self.folders.file(reference, base) for base in bases]
        path = next((p for p in places if p.is_file()), places[0])
        if path not in self._names:
            if not path.is_file():
                self.missing.append(f"{owner}: {reference}, no such file")
                return None
            self._size += path.stat().st_size
            if self._size > _LARGEST_MESHES:
                raise UsageError(f"{self.folders.path}: its meshes are larger than {_LARGEST_MESHES >> 20} MB together")
            data = path.read_bytes()
            trouble = _trouble(path.suffix.lower(), data)
            if trouble:
                self.missing.append(f"{owner}: {reference}, {trouble}")
                return None
            self._names[path] = name = f"mesh{len(self.assets)}{path.suffix.lower()}"
            self.assets[name] = data
        return self._names[path]


def _trouble(suffix: str, data: bytes) -> str:
    """Why a mesh cannot be used, "" if it can."""
    if suffix == ".obj":
        return ""
    if suffix != ".stl":
        return f"meshes of type {suffix or 'unknown'} are not read (binary .stl and .obj are)"
    faces = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    if not faces or len(data) != 84 + 50 * faces:
        return "not a binary STL file"
    return "" if faces <= _MOST_FACES else f"{faces} faces, more than {_MOST_FACES}"


# -- URDF -----------------------------------------------------------------------------------------


def _urdf(path: Path, robot: ET.Element, folders: _Folders) -> ModelFiles:
    """Links with their collision geometry, and joints; nothing else. Masses say nothing here and often are nonsense."""
    extension = robot.find("mujoco/compiler")
    stated = extension.get("meshdir") if extension is not None else None
    bases = [None, *([folders.own / stated] if stated else [])]
    meshes = _Meshes(folders)
    kept = ET.Element("robot", name=robot.get("name", "robot"))
    for part in robot:
        if part.tag == "link":
            _keep(part, {"collision"})
            body = ET.SubElement(part, "inertial")
            ET.SubElement(body, "mass", value="1")
            ET.SubElement(body, "inertia", _UNIT_INERTIA)
            for shape in part.findall("collision"):
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                name = meshes.take(mesh.get("filename", ""), part.get("name", "link"), bases)
                if name is None:
                    part.remove(shape)
                else:
                    mesh.set("filename", name)
            kept.append(part)
        elif part.tag == "joint":
            kept.append(part)
    ET.SubElement(ET.SubElement(kept, "mujoco"), "compiler", _COMPILER | {"strippath": "false"})
    return _files(path, "urdf", kept, meshes)


# -- MJCF -----------------------------------------------------------------------------------------


def _mjcf(path: Path, robot: ET.Element, folders: _Folders) -> ModelFiles:
    """Bodies, joints and geometry, with the defaults, exclusions and joint couplings that they refer to."""
    _include(path, robot, folders, (path.resolve(),))
    mesh_folder: Path | None = None
    by_name_only = False
    for compiler in robot.findall("compiler"):
        stated = compiler.get("meshdir") or compiler.get("assetdir")
        mesh_folder = folders.own / stated if stated else mesh_folder
        by_name_only = compiler.get("strippath", "false") == "true" or by_name_only
        for name in _MJCF_FOLDERS:
            compiler.attrib.pop(name, None)
    for section in list(robot):
        if section.tag not in _MJCF_SECTIONS:
            robot.remove(section)
    for section, allowed in (("asset", {"mesh"}), ("contact", {"exclude"}), ("equality", {"joint"})):
        for part in robot.findall(section):
            _keep(part, allowed)
    for section, allowed in (("worldbody", _MJCF_IN_BODY), ("default", _MJCF_IN_DEFAULT)):
        for part in robot.findall(section):
            _prune(path, part, allowed)
    meshes = _Meshes(folders)
    gone = set()
    for section in robot.findall("asset"):
        for mesh in list(section):
            _keep(mesh, set())  # a plug-in could stand there
            reference = mesh.get("file")
            if reference is None:
                continue
            own_name = mesh.get("name") or Path(reference).stem
            name = meshes.take(Path(reference).name if by_name_only else reference, own_name, [mesh_folder])
            if name is None:
                section.remove(mesh)
                gone.add(own_name)
            else:
                mesh.attrib.update(name=own_name, file=name)
    for parent in list(robot.iter()):
        for shape in parent.findall("geom"):
            if shape.get("mesh") in gone or shape.get("hfield") is not None or shape.get("type") == "sdf":
                parent.remove(shape)
            shape.attrib.pop("material", None)
        for spot in parent.findall("site"):
            spot.attrib.pop("material", None)
        for body in parent.findall("body"):
            ET.SubElement(body, "inertial", pos="0 0 0", mass="1", diaginertia="1 1 1")
    robot.tag = "mujoco"
    ET.SubElement(robot, "compiler", _COMPILER | {"discardvisual": "true"})
    return _files(path, "mjcf", robot, meshes)


def _include(path: Path, element: ET.Element, folders: _Folders, chain: tuple[Path, ...]) -> None:
    """Put what included files hold in the place of `<include>`, as MuJoCo does."""
    for child in list(element):
        if child.tag != "include":
            _include(path, child, folders, chain)
            continue
        # Includes of included files are relative to the main file, too.
        file = folders.file(child.get("file", ""))
        if file.resolve() in chain or len(chain) > _DEEPEST:
            raise UsageError(f"{path}: {child.get('file')!r} includes itself")
        inner = _parsed(file)
        _include(path, inner, folders, (*chain, file.resolve()))
        at = list(element).index(child)
        element.remove(child)
        for offset, part in enumerate(list(inner)):
            element.insert(at + offset, part)


def _prune(path: Path, element: ET.Element, allowed: set[str]) -> None:
    for child in list(element):
        if child.tag in _MJCF_UNFOLDS:
            raise UsageError(
                f"{path}: <{child.tag}> is not read; save the model flat first (MuJoCo's mj_saveLastXML writes it so)"
            )
        if child.tag not in allowed:
            element.remove(child)
        else:
            _prune(path, child, allowed if child.tag in ("body", "frame", "default") else set())


def _keep(element: ET.Element, allowed: set[str]) -> None:
    for child in list(element):
        if child.tag not in allowed:
            element.remove(child)


# -- text -----------------------------------------------------------------------------------------


def _files(path: Path, kind: Kind, robot: ET.Element, meshes: _Meshes) -> ModelFiles:
    xml = ET.tostring(robot, encoding="unicode")
    return ModelFiles(path=path, kind=kind, xml=xml, assets=meshes.assets, missing=tuple(meshes.missing))


def _parsed(path: Path) -> ET.Element:
    """The file's root element; no document type, no entity, no endless nesting."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe might never end
            raise UsageError(f"{path}: no file; correct the card's urdf or mjcf")
        if path.stat().st_size > _LARGEST_TEXT:
            raise UsageError(f"{path}: larger than {_LARGEST_TEXT >> 20} MB, which no robot's description is")
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); correct the card's urdf or mjcf") from None
    depth = 0

    def enter(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise UsageError(f"{path}: more than {_DEEPEST} elements within each other")

    def leave(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*declared: object) -> None:
        raise UnsafeCorpusError(
            f"{path}: declares a document type, which could read other files; remove <!DOCTYPE ...>"
        )

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text, True)
        return ET.fromstring(text)
    except (expat.ExpatError, ET.ParseError, ValueError, LookupError) as error:
        raise UsageError(f"{path}: not valid XML: {error}") from None
