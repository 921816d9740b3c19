"""The wire format of tf.train.Example, against bytes written by hand and protobuf's own library."""

from __future__ import annotations

import made_rlds as made
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from gristmill.formats.tfrecord import example


def parsed(data: bytes) -> dict:
    found = example.features(data, 0, len(data))
    read = {"float": example.floats, "int": example.ints}
    return {
        name: [data[a:b] for a, b in example.entries(data, f)] if f.kind == "bytes" else read[f.kind](data, f)
        for name, f in found.items()
        if f.kind
    }


def test_bytes_of_a_known_message() -> None:
    # Example{features{feature{key:"a" value{int64_list{value:[1, 300]}}}}}, written out by hand.
    data = bytes.fromhex("0a0e 0a0c 0a0161 1207 1a05 0a03 01ac02".replace(" ", ""))
    assert parsed(data)["a"].tolist() == [1, 300]
    feature = example.features(data, 0, len(data))["a"]
    assert (feature.kind, example.count(data, feature)) == ("int", 2)


def _protobuf() -> type:
    """protobuf's own class for tf.train.Example."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, kind in (("BytesList", "TYPE_BYTES"), ("FloatList", "TYPE_FLOAT"), ("Int64List", "TYPE_INT64")):
        of = file.message_type.add(name=name)
        of.field.add(name="value", number=1, type=getattr(kinds, kind), label=kinds.LABEL_REPEATED)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for n, (field, name) in enumerate(
        [("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")], 1
    ):
        feature.field.add(
            name=field, number=n, type=kinds.TYPE_MESSAGE, type_name=f".t.{name}", label=kinds.LABEL_OPTIONAL
        ).oneof_index = 0
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=kinds.TYPE_MESSAGE, type_name=".t.Feature", label=kinds.LABEL_OPTIONAL)
    features.field.add(
        name="feature", number=1, type=kinds.TYPE_MESSAGE, type_name=".t.Features.FeatureEntry",
        label=kinds.LABEL_REPEATED,
    )  # fmt: skip
    top = file.message_type.add(name="Example")
    top.field.add(
        name="features", number=1, type=kinds.TYPE_MESSAGE, type_name=".t.Features", label=kinds.LABEL_OPTIONAL
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


EXAMPLE = _protobuf()


@given(
    npst.arrays(np.int64, st.integers(0, 40)),
    npst.arrays(np.float32, st.integers(0, 40)),
    st.lists(st.binary(max_size=20), max_size=5),
)
def test_what_protobuf_writes_reads_back(whole: np.ndarray, real: np.ndarray, texts: list[bytes]) -> None:
    written = EXAMPLE()
    written.features.feature["whole"].int64_list.value.extend(whole.tolist())
    written.features.feature["real"].float_list.value.extend(real.tolist())
    written.features.feature["texts"].bytes_list.value.extend(texts)
    found = parsed(written.SerializeToString())
    np.testing.assert_array_equal(found["whole"], whole)
    np.testing.assert_array_equal(found["real"].view(np.uint32)[~np.isnan(real)], real.view(np.uint32)[~np.isnan(real)])
    assert found["texts"] == texts


def test_unpacked_lists_read_like_packed_ones() -> None:
    features = {"whole": np.array([0, -1, 2**63 - 1, 300]), "real": np.array([0.5, -2], np.float32)}
    for packed in (True, False):
        found = parsed(made.example(features, packed=packed))
        assert found["whole"].tolist() == [0, -1, 2**63 - 1, 300]
        assert found["real"].tolist() == [0.5, -2]
        data = made.example(features, packed=packed)
        lists = example.features(data, 0, len(data))
        assert [example.count(data, lists[k]) for k in ("whole", "real")] == [4, 2]


@given(st.integers(0, 400), st.integers(0, 7))
def test_damage_is_an_error_or_other_values_but_never_anything_else(at: int, bit: int) -> None:
    data = bytearray(made.example({"a": np.arange(40), "b": ["x" * 50] * 3, "c": np.ones(20, np.float32)}))
    data[at % len(data)] ^= 1 << bit
    try:
        parsed(bytes(data))
    except example.MalformedError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("data", [b"\x0a\xff\xff\xff\xff\x7f", b"\x0a", b"\x0b", b"\xff" * 30, b"\x0a\x02\x0a\x05"])
def test_bytes_that_are_no_message(data: bytes) -> None:
    with pytest.raises(example.MalformedError):
        example.features(data, 0, len(data))


def test_a_list_of_another_kind_is_an_error() -> None:
    data = made.example({"a": np.arange(3)})
    feature = example.features(data, 0, len(data))["a"]
    for read in (example.floats, example.entries):
        with pytest.raises(example.MalformedError, match="a list of int stands where"):
            read(data, feature)
