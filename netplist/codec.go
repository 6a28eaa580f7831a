package netplist

import (
	"reflect"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A codec is the form of a key that is not that of its field's type. read reports whether the key is there.
type codec struct {
	read  func(r *paramReader, key string, v reflect.Value) bool
	write func(w *paramWriter, key string, v reflect.Value)
}

// codecs are by key, or by kind and field where a key is not always so.
var codecs = map[string]codec{
	"BroadcastInfo":                {readBroadcast, writeBroadcast},
	"DynamicSliceInfo":             {readSlices, writeSlices},
	"CoordinateInfo":               {readCoordinates("CoordinateMode"), writeCoordinates("CoordinateMode")},
	"PaddingInfo":                  {readCoordinates("PaddingMode"), writeCoordinates("PaddingMode")},
	"TransposeDimensions":          {readPerm, writePerm},
	"Indices":                      {readResults, writeResults},
	"NumGroups":                    {readGroups, writeGroups},
	"Conv.Stride":                  {readStep, writeStep},
	"Pooling.Stride":               {readStep, writeStep},
	"ArgMinMax.Stride":             {readStep, writeStep},
	"Conv.Transposed":              {readConvType, writeConvType},
	"Reduction.Axes":               {readAxes, writeAxes},
	"Quant.To":                     {readOutputType, writeOutputType},
	"CrossCorrelation.OutChannels": {readOutputChannels, writeOutputChannels},
}

func codecOf(name, key string) (codec, bool) {
	if c, ok := codecs[name]; ok {
		return c, true
	}
	c, ok := codecs[key]
	return c, ok
}

// each reads an array of dictionaries.
func (r *paramReader) each(key string, read func(t *taker)) bool {
	return r.t.key(key, func(v any) *Error {
		list, err := asList(v)
		for i := 0; err == nil && i < len(list); i++ {
			var d Dict
			if d, err = asDict(list[i]); err == nil {
				t := take(d)
				read(t)
				err = t.err
			}
		}
		return err
	})
}

// BroadcastInfo is [{Dimension, Size}]; other axes stay.
func readBroadcast(r *paramReader, key string, v reflect.Value) bool {
	dims := v.Addr().Interface().(*anec.Dims)
	if len(r.bottoms) > 0 && r.bottoms[0] != nil {
		*dims = r.bottoms[0].Type.Dims
	}
	return r.each(key, func(t *taker) {
		var axis td.Axis
		var size int
		t.key("Dimension", into(&axis, asAxis))
		t.key("Size", into(&size, asInt))
		dims[axis] = size
	})
}

func writeBroadcast(w *paramWriter, key string, v reflect.Value) {
	list := []any{}
	for a, n := range v.Interface().(anec.Dims) {
		if n != w.bottoms[0].Type.Dims[a] {
			list = append(list, Dict{"Dimension": axisNames[a], "Size": int64(n)})
		}
	}
	w.set(key, list)
}

// DynamicSliceInfo is [{Coordinate, SliceSize}], for the axes of DynamicSliceAxisOrder.
func readSlices(r *paramReader, key string, v reflect.Value) bool {
	sizes := map[td.Axis]int{}
	found := r.each(key, func(t *taker) {
		var axis td.Axis
		var size int
		t.key("Coordinate", into(&axis, asAxis))
		t.key("SliceSize", into(&size, asInt))
		sizes[axis] = size
	})
	var order []td.Axis
	if list, ok := r.unit.Params["DynamicSliceAxisOrder"]; ok {
		if err := setPlain(reflect.ValueOf(&order).Elem(), list); err != nil && r.t.err == nil {
			r.t.err = err.at("", "", "DynamicSliceAxisOrder")
		}
	}
	out := []int{}
	for _, a := range order {
		size, ok := sizes[a]
		if !ok && r.t.err == nil {
			r.t.err = errorf(InvalidParamSyntax, "no SliceSize along %s", axisNames[a]).at("", "", key)
		}
		out = append(out, size)
	}
	v.Set(reflect.ValueOf(out))
	return found
}

func (w *paramWriter) sliceAxes() []td.Axis {
	var axes []td.Axis
	if list, ok := w.unit.Params["DynamicSliceAxisOrder"].([]any); ok {
		for _, x := range list {
			a, _ := asAxis(x)
			axes = append(axes, a)
		}
		return axes
	}
	return []td.Axis{td.AxisH, td.AxisW} // of a layer that samples a plane
}

func writeSlices(w *paramWriter, key string, v reflect.Value) {
	list := []any{}
	for i, a := range w.sliceAxes() {
		list = append(list, Dict{"Coordinate": axisNames[a], "SliceSize": int64(v.Interface().([]int)[i])})
	}
	w.set(key, list)
}

// CoordinateInfo is [{Coordinate, CoordinateMode}], PaddingInfo is [{Coordinate, PaddingMode}]. A layer has one mode for all axes.
func readCoordinates(mode string) func(*paramReader, string, reflect.Value) bool {
	return func(r *paramReader, key string, v reflect.Value) bool {
		first := true
		return r.each(key, func(t *taker) {
			delete(t.left, "Coordinate")
			before := v.Uint()
			t.key(mode, func(x any) *Error { return setToken(v, x) })
			if !first && v.Uint() != before && t.err == nil {
				t.err = errorf(InvalidParamSyntax, "the axes have different modes; a layer here has one for all").at("", "", key)
			}
			first = false
		})
	}
}

func writeCoordinates(mode string) func(*paramWriter, string, reflect.Value) {
	return func(w *paramWriter, key string, v reflect.Value) {
		list := []any{}
		for _, a := range w.sliceAxes() {
			list = append(list, Dict{"Coordinate": axisNames[a], mode: wordOf(v)})
		}
		w.set(key, list)
	}
}

// TransposeDimensions is [{TransposeSourceDimension, TransposeDestinationDimension}]; other axes stay.
func readPerm(r *paramReader, key string, v reflect.Value) bool {
	perm := anec.Identity
	found := r.each(key, func(t *taker) {
		var from, to td.Axis
		t.key("TransposeSourceDimension", into(&from, asAxis))
		t.key("TransposeDestinationDimension", into(&to, asAxis))
		perm[to] = from
	})
	if found && !perm.Valid() && r.t.err == nil {
		r.t.err = errorf(InvalidParamSyntax, "an axis is the source of two").at("", "", key)
	}
	v.Set(reflect.ValueOf(perm))
	return found
}

func writePerm(w *paramWriter, key string, v reflect.Value) {
	list := []any{}
	for to, from := range v.Interface().(anec.Perm) {
		if td.Axis(to) != from {
			list = append(list, Dict{"TransposeSourceDimension": axisNames[from], "TransposeDestinationDimension": axisNames[to]})
		}
	}
	w.set(key, list)
}

// Indices is whether a sorting unit gives indices instead of values. Both at once is ours.
func readResults(r *paramReader, key string, v reflect.Value) bool {
	return r.t.key(key, func(x any) *Error {
		indices, err := asBool(x)
		if indices {
			v.SetUint(uint64(td.ResultIndices))
		}
		return err
	})
}

func writeResults(w *paramWriter, key string, v reflect.Value) {
	if v.Interface() == td.ResultBoth {
		w.setOurs("Results", wordOf(v))
		return
	}
	w.set(key, v.Interface() == td.ResultIndices)
}

// NumGroups stands in the unit itself, or in Params.
func readGroups(r *paramReader, key string, v reflect.Value) bool {
	if r.unit.NumGroups != 0 {
		v.SetInt(int64(r.unit.NumGroups))
	}
	return r.t.key(key, func(x any) *Error { return setPlain(v, x) }) || r.unit.NumGroups != 0
}

func writeGroups(w *paramWriter, key string, v reflect.Value) {
	if w.kind == anec.KindConv {
		w.unit.NumGroups = int(v.Int())
		return
	}
	w.set(key, v.Int())
}

// Step is W, H and, if it is there, D.
func readStep(r *paramReader, key string, v reflect.Value) bool {
	return r.t.key(key, func(x any) *Error {
		list, err := asList(x)
		if err != nil || len(list) < 2 || len(list) > 3 {
			return wrong(x, "an array of two or three integers")
		}
		for i, n := range list {
			step, err := asInt(n)
			if err != nil {
				return err
			}
			v.Index(2 - i).SetInt(int64(step))
		}
		return nil
	})
}

func writeStep(w *paramWriter, key string, v reflect.Value) {
	list := []any{v.Index(2).Int(), v.Index(1).Int()}
	if d := v.Index(0).Int(); d != 1 {
		list = append(list, d)
	}
	w.set(key, list)
}

// A convolution's Type is Conv or ChannelWiseDeConv: transposed, with a group for each channel. One that is transposed otherwise is
// ours.
func readConvType(r *paramReader, key string, v reflect.Value) bool {
	return r.t.key(key, func(x any) *Error {
		switch x {
		case "Conv":
		case "ChannelWiseDeConv", ours + "DeConv":
			v.SetBool(true)
		default:
			return wrong(x, "Conv or ChannelWiseDeConv")
		}
		return nil
	})
}

func writeConvType(w *paramWriter, key string, v reflect.Value) { // it differs from the usual: it is transposed
	x, filter := w.bottoms[0].Type.Dims, w.bottoms[1].Type.Dims
	if w.unit.NumGroups == x[anec.C] && filter[anec.C] == 1 {
		w.set(key, "ChannelWiseDeConv")
		return
	}
	w.set(key, ours+"DeConv")
	w.strange = append(w.strange, "Params.Type")
}

// A Reduction has its axes in an array, be it one.
func readAxes(r *paramReader, key string, v reflect.Value) bool {
	return r.t.key(key, func(x any) *Error { return setPlain(v, x) })
}

func writeAxes(w *paramWriter, key string, v reflect.Value) {
	x := plain(v)
	if _, one := x.(string); one {
		x = []any{x}
	}
	w.set(key, x)
}

// A Quant's type is the unit's own.
func readOutputType(r *paramReader, _ string, v reflect.Value) bool {
	if r.unit.OutputType == "" {
		return false
	}
	d, err := asType(r.unit.OutputType)
	if err != nil && r.t.err == nil {
		r.t.err = err.at("", "", "OutputType")
	}
	v.Set(reflect.ValueOf(d))
	return true
}

func writeOutputType(w *paramWriter, _ string, v reflect.Value) {
	w.unit.OutputType = typeName(v.Interface().(tensor.DType))
}

// So are the channels of a CrossCorrelation.
func readOutputChannels(r *paramReader, _ string, v reflect.Value) bool {
	if r.unit.OutputChannels != 0 {
		v.SetInt(int64(r.unit.OutputChannels))
	}
	return true
}

func writeOutputChannels(w *paramWriter, _ string, v reflect.Value) {
	w.unit.OutputChannels = int(v.Int())
}
