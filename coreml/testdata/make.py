#!/usr/bin/env python3
"""Writes the specifications of this folder with coremltools' own protobuf classes.

    python3 make.py        # needs coremltools

They hold what the models in testdata/models at the repository's root do not: every kind of feature, model
types that are not programs, element types and value forms that converters rarely write.
"""
import pathlib

from coremltools.proto import FeatureTypes_pb2 as ft
from coremltools.proto import MIL_pb2 as mil
from coremltools.proto import Model_pb2 as ml

HERE = pathlib.Path(__file__).parent
ARRAY = ft.ArrayFeatureType
IMAGE = ft.ImageFeatureType


def save(name, model):
    (HERE / name).write_bytes(model.SerializeToString(deterministic=True))


def array(feature, dtype, shape):
    feature.type.multiArrayType.dataType = dtype
    feature.type.multiArrayType.shape.extend(shape)
    return feature.type.multiArrayType


def features():
    m = ml.Model(specificationVersion=10)
    d = m.description
    d.metadata.author = "An author"
    d.metadata.license = "A licence"
    d.metadata.shortDescription = "Every kind of feature"
    d.metadata.versionString = "1.2"
    d.metadata.userDefined["key"] = "value"
    d.metadata.userDefined["empty"] = ""
    d.predictedFeatureName = "label"
    d.predictedProbabilitiesName = "probabilities"

    d.input.add(name="int64", shortDescription="a whole number").type.int64Type.SetInParent()
    d.input.add(name="double").type.doubleType.SetInParent()
    d.input.add(name="string").type.stringType.SetInParent()
    for name, code in [("f16", ARRAY.FLOAT16), ("f32", ARRAY.FLOAT32), ("f64", ARRAY.DOUBLE), ("i32", ARRAY.INT32), ("i8", ARRAY.INT8)]:
        array(d.input.add(name=name), code, [1, 2])
    a = array(d.input.add(name="enumerated"), ARRAY.FLOAT32, [1, 3])
    for shape in [1, 3], [2, 3], [4]:
        a.enumeratedShapes.shapes.add().shape.extend(shape)
    a = array(d.input.add(name="ranged"), ARRAY.FLOAT16, [1, 4])
    a.shapeRange.sizeRanges.add(lowerBound=1, upperBound=1)
    a.shapeRange.sizeRanges.add(lowerBound=2, upperBound=-1)
    for name, field, value in [("int default", "intDefaultValue", -3), ("float default", "floatDefaultValue", 0.5), ("double default", "doubleDefaultValue", 1e300)]:
        f = d.input.add(name=name)
        f.type.isOptional = True
        setattr(array(f, ARRAY.FLOAT32, [2]), field, value)
    for name, space in [("gray", IMAGE.GRAYSCALE), ("rgb", IMAGE.RGB), ("bgr", IMAGE.BGR), ("gray16", IMAGE.GRAYSCALE_FLOAT16)]:
        i = d.input.add(name=name).type.imageType
        i.width, i.height, i.colorSpace = 8, 6, space
    i = d.input.add(name="sizes").type.imageType
    i.width, i.height, i.colorSpace = 8, 6, IMAGE.RGB
    i.enumeratedSizes.sizes.add(width=8, height=6)
    i.enumeratedSizes.sizes.add(width=16, height=12)
    i = d.input.add(name="size range").type.imageType
    i.width, i.height, i.colorSpace = 8, 6, IMAGE.RGB
    i.imageSizeRange.widthRange.lowerBound = 4
    i.imageSizeRange.widthRange.upperBound = 64
    i.imageSizeRange.heightRange.lowerBound = 6
    i.imageSizeRange.heightRange.upperBound = -1
    d.input.add(name="by int64").type.dictionaryType.int64KeyType.SetInParent()
    d.input.add(name="by string").type.dictionaryType.stringKeyType.SetInParent()
    s = d.input.add(name="int64s").type.sequenceType
    s.int64Type.SetInParent()
    s.sizeRange.upperBound = -1
    s = d.input.add(name="strings").type.sequenceType
    s.stringType.SetInParent()
    s.sizeRange.lowerBound, s.sizeRange.upperBound = 1, 9
    s = d.state.add(name="memory").type.stateType.arrayType
    s.dataType = ARRAY.FLOAT16
    s.shape.extend([1, 8])
    d.output.add(name="label").type.stringType.SetInParent()
    d.output.add(name="probabilities").type.dictionaryType.stringKeyType.SetInParent()
    array(d.output.add(name="unshaped"), ARRAY.FLOAT32, [])
    array(d.trainingInput.add(name="truth"), ARRAY.FLOAT32, [1])
    m.isUpdatable = True
    m.neuralNetworkClassifier.layers.add(name="fc", input=["x"], output=["y"]).innerProduct.inputChannels = 3
    save("features.mlmodel", m)


def pipeline_classifier():
    m = ml.Model(specificationVersion=4)
    array(m.description.input.add(name="x"), ARRAY.DOUBLE, [4])
    m.description.output.add(name="y").type.int64Type.SetInParent()
    p = m.pipelineClassifier.pipeline
    p.names.extend(["scale", "decide"])
    stage = p.models.add(specificationVersion=4)
    array(stage.description.input.add(name="x"), ARRAY.DOUBLE, [4])
    array(stage.description.output.add(name="scaled"), ARRAY.DOUBLE, [4])
    stage.scaler.scaleValue.extend([2.0])
    stage = p.models.add(specificationVersion=4)
    array(stage.description.input.add(name="scaled"), ARRAY.DOUBLE, [4])
    stage.description.output.add(name="y").type.int64Type.SetInParent()
    stage.treeEnsembleClassifier.treeEnsemble.numPredictionDimensions = 2
    save("pipeline_classifier.mlmodel", m)


def functions():
    m = ml.Model(specificationVersion=9)
    d = m.description
    d.defaultFunctionName = "second"
    for name in "first", "second":
        f = d.functions.add(name=name, predictedFeatureName="y")
        array(f.input.add(name="x"), ARRAY.FLOAT16, [2])
        array(f.output.add(name="y"), ARRAY.FLOAT16, [2])
        f.state.add(name="s").type.stateType.arrayType.dataType = ARRAY.FLOAT16
        fn = m.mlProgram.functions[name]
        fn.opset = "CoreML8"
        tensor_type(fn.inputs.add(name="x").type, mil.FLOAT16, [2])
        tensor_type(fn.inputs.add(name="s").type.stateType.wrappedType, mil.FLOAT16, [])
        fn.block_specializations["CoreML8"].outputs.append("x")
        fn.block_specializations["CoreML5"].outputs.append("nothing")  # not the one in use
    m.mlProgram.version = 1
    save("functions.mlmodel", m)


def tensor_type(t, dtype, shape):
    t.tensorType.dataType = dtype
    t.tensorType.rank = len(shape)
    for n in shape:
        t.tensorType.dimensions.add().constant.size = n


def values():
    """Constants of every form, as the attribute val of const operations named after them."""
    m = ml.Model(specificationVersion=9)
    m.description.SetInParent()
    p = m.mlProgram
    p.version = 1
    p.docString = "kept as an unknown field"
    info = p.attributes["buildInfo"]
    info.type.dictionaryType.keyType.tensorType.dataType = mil.STRING
    info.type.dictionaryType.valueType.tensorType.dataType = mil.STRING
    pair = info.immediateValue.dictionary.values.add()
    for v, text in (pair.key, "coremltools-version"), (pair.value, "9.0"):
        v.type.tensorType.dataType = mil.STRING
        v.immediateValue.tensor.strings.values.append(text)
    fn = p.functions["main"]
    fn.opset = "CoreML8"
    block = fn.block_specializations["CoreML8"]

    def const(name):
        op = block.operations.add(type="const")
        v = op.attributes["val"]
        out = op.outputs.add(name=name)
        return v, out

    def tensor(name, dtype, shape, field, data):
        v, out = const(name)
        tensor_type(v.type, dtype, shape)
        tensor_type(out.type, dtype, shape)
        values = getattr(v.immediateValue.tensor, field)
        values.SetInParent()
        if field == "bytes":
            values.values = data
        else:
            values.values.extend(data)

    tensor("f32", mil.FLOAT32, [2, 2], "floats", [1.5, -2.0, float("inf"), 1e-45])
    tensor("f64", mil.FLOAT64, [1], "doubles", [1e300])
    tensor("f16", mil.FLOAT16, [2], "bytes", b"\x00\x3c\x00\xbc")
    tensor("i32", mil.INT32, [3], "ints", [-1, 0, 2**31 - 1])
    tensor("i16", mil.INT16, [2], "ints", [-32768, 32767])
    tensor("u16", mil.UINT16, [1], "ints", [65535])
    tensor("i64", mil.INT64, [2], "longInts", [-(2**63), 2**63 - 1])
    tensor("u64", mil.UINT64, [1], "longInts", [-1])
    tensor("u32", mil.UINT32, [1], "bytes", b"\xff\xff\xff\xff")
    tensor("i8", mil.INT8, [2], "bytes", b"\xff\x7f")
    tensor("u8", mil.UINT8, [1], "bytes", b"\xff")
    tensor("i4", mil.INT4, [3], "bytes", b"\x8f\x07")
    tensor("u3", mil.UINT3, [3], "bytes", b"\xd1\x01")
    tensor("bools", mil.BOOL, [3], "bools", [True, False, True])
    tensor("strings", mil.STRING, [2], "strings", ["", "grüße"])
    tensor("empty", mil.INT32, [0, 3], "ints", [])
    tensor("scalar", mil.FLOAT32, [], "floats", [0.25])

    v, out = const("list")
    for t in v.type, out.type:
        t.listType.type.tensorType.dataType = mil.STRING
        t.listType.length.constant.size = 2
    for text in "a", "b":
        item = v.immediateValue.list.values.add()
        item.type.tensorType.dataType = mil.STRING
        item.immediateValue.tensor.strings.values.append(text)

    v, out = const("tuple")
    for t in v.type, out.type:
        t.tupleType.types.add().tensorType.dataType = mil.BOOL
        t.tupleType.types.add().tensorType.dataType = mil.INT32
    item = v.immediateValue.tuple.values.add()
    item.type.tensorType.dataType = mil.BOOL
    item.immediateValue.tensor.bools.values.append(True)
    item = v.immediateValue.tuple.values.add()
    item.type.tensorType.dataType = mil.INT32
    item.immediateValue.tensor.ints.values.append(7)

    v, out = const("blob")
    tensor_type(v.type, mil.FLOAT16, [4])
    tensor_type(out.type, mil.FLOAT16, [4])
    v.blobFileValue.fileName = "@model_path/weights/weight.bin"
    v.blobFileValue.offset = 64

    block.outputs.extend(["f32"])
    save("values.mlmodel", m)


if __name__ == "__main__":
    features()
    pipeline_classifier()
    functions()
    values()
