#!/usr/bin/env python3
"""Writes programs.sum: a checksum of each program in testdata/models, decoded by Google's protobuf library.

    python3 dump.py        # needs coremltools and numpy
    python3 dump.py NAME   # prints the dump of one model instead

TestProgramsAgainstProtobuf makes the same dump of what package coreml decodes.
"""
import hashlib
import pathlib
import sys

import numpy as np
from coremltools.proto import Model_pb2 as ml

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "testdata" / "models"

# Element types that are not stored as bytes, by their code in MIL.proto.
NUMPY = {1: "<u1", 11: "<f4", 12: "<f8", 22: "<i2", 23: "<i4", 24: "<i8", 32: "<u2", 34: "<u8"}


def dim(d):
    return str(d.constant.size) if d.WhichOneof("dimension") == "constant" else "?"


def type_(t):
    kind = t.WhichOneof("type")
    if kind == "tensorType":
        t = t.tensorType
        if t.rank < 0 or any(d.WhichOneof("dimension") == "unknown" and d.unknown.variadic for d in t.dimensions):
            return f"T{t.dataType}[*]"
        return f"T{t.dataType}[" + ",".join(map(dim, t.dimensions)) + "]"
    if kind == "listType":
        return f"L({type_(t.listType.type)},{dim(t.listType.length)})"
    if kind == "tupleType":
        return "U(" + ",".join(map(type_, t.tupleType.types)) + ")"
    if kind == "dictionaryType":
        return f"D({type_(t.dictionaryType.keyType)},{type_(t.dictionaryType.valueType)})"
    return f"S({type_(t.stateType.wrappedType)})"


def value(v):
    s = type_(v.type) + "="
    if v.WhichOneof("value") == "blobFileValue":
        return s + f"{v.blobFileValue.fileName}@{v.blobFileValue.offset}"
    i = v.immediateValue
    kind = i.WhichOneof("value")
    if kind in ("list", "tuple"):
        return s + "[" + ",".join(map(value, getattr(i, kind).values)) + "]"
    if kind == "dictionary":
        return s + "{" + ",".join(value(p.key) + ":" + value(p.value) for p in i.dictionary.values) + "}"
    field = i.tensor.WhichOneof("value")
    if field == "bytes":
        data = i.tensor.bytes.values
    elif field == "strings":
        data = "\0".join(i.tensor.strings.values).encode()
    else:
        data = np.array(list(getattr(i.tensor, field).values)).astype(NUMPY[v.type.tensorType.dataType]).tobytes()
    return s + data.hex()


def attributes(a):
    return ";".join(f"{k}={value(a[k])}" for k in sorted(a))


def named(values):
    return ",".join(f"{v.name}:{type_(v.type)}" for v in values)


def block(b, indent):
    yield f"{indent}block({named(b.inputs)})[{attributes(b.attributes)}]"
    for op in b.operations:
        inputs = ";".join(
            f"{p}=" + ",".join(a.name if a.WhichOneof("binding") == "name" else value(a.value) for a in op.inputs[p].arguments)
            for p in sorted(op.inputs)
        )
        yield f"{indent} {op.type}({inputs})->({named(op.outputs)})[{attributes(op.attributes)}]"
        for nested in op.blocks:
            yield from block(nested, indent + "  ")
    yield f"{indent}gives({','.join(b.outputs)})"


def model(m):
    for stage in m.pipeline.models:
        yield from model(stage)
    if m.WhichOneof("Type") == "mlProgram":
        p = m.mlProgram
        yield f"program({p.version})[{attributes(p.attributes)}]"
        for name in sorted(p.functions):
            f = p.functions[name]
            yield f"{name}<{f.opset}>({named(f.inputs)})[{attributes(f.attributes)}]"
            yield from block(f.block_specializations[f.opset], " ")


def dump(folder):
    m = ml.Model()
    m.ParseFromString((folder / "model.mlpackage/Data/com.apple.CoreML/model.mlmodel").read_bytes())
    return "".join(line + "\n" for line in model(m))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(dump(MODELS / sys.argv[1]), end="")
    else:
        lines = [f"{hashlib.sha256(dump(d).encode()).hexdigest()}  {d.name}\n" for d in sorted(MODELS.iterdir())]
        (HERE / "programs.sum").write_text("".join(lines))
