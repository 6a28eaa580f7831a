package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// RingBufferWriter writes an update into a state at an offset and leaves the
// rest: y is the state after, and has its buffer. The offset is Offset, plus the
// numbers of start, which lie along W, one for each axis of Live. Along the axes
// of Circular what leaves the state at its end enters at its beginning.
//
// state must be one of the graph, or what another writer made of it: only so can
// it be written in place. A slice of an ordinary tensor can be written too, where
// a target takes it: then y is a copy.
type RingBufferWriter struct {
	Offset   Dims
	Circular td.Axes
	Live     []td.Axis // the descriptor's live_param0, live_param1, …
}

var ringBufferWriterInfo = KindInfo{
	Kind: KindRingBufferWriter, Name: "RingBufferWriter", Dialect: Dialect{Name: "ring_buffer_writer"}, Standing: Descriptor, Desc: "RingBufferWriter", Class: td.ClassRingBufferWriter,
	Sources: "export desc B", Unsure: "its keys; offsets as an operand",
	New: func() Params { return &RingBufferWriter{} }, Contract: contract("y", "state update start?#"),
	Example: Example{"Offset=[0,0,0,2,0]", "fp16[1,1,8,16,16] fp16[1,1,8,4,16]"},

	Pattern: Pattern{2, 3, "", "guide B: 2; the descriptor's live parameters: one more" + textOurs},
	Check:   matched(validateRingBufferWriter), Codegen: ringBufferWriterCodegen,

	Unit: OnArray, Epilogue: EpilogueNone, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overFirst, Rows: allRows, AtLoad: never, // it writes over another's result, and derived memory is written once
	Cost: perResult(0),
}

func (*RingBufferWriter) Info() *KindInfo { return &ringBufferWriterInfo }

func (p *RingBufferWriter) infer(o *operands) ([]Type, error) {
	if o.types[0].DType != o.types[1].DType {
		return nil, fmt.Errorf("state is of %v, update of %v", o.types[0].DType, o.types[1].DType)
	}
	if err := ringOffsets(o, 2, p.Live); err != nil {
		return nil, err
	}
	if err := ringWindow(o.dims(0), o.dims(1), p.Offset, p.Circular, p.Live); err != nil {
		return nil, err
	}
	return like(o)
}

// RingBufferReader reads a window of a state: what RingBufferWriter would write.
// (Known is its class; its fields are those of the writer.)
type RingBufferReader struct {
	Size     Dims
	Offset   Dims
	Circular td.Axes
	Live     []td.Axis
}

var ringBufferReaderInfo = KindInfo{
	Kind: KindRingBufferReader, Name: "RingBufferReader", Dialect: Dialect{Name: "ring_buffer_reader"}, Standing: UnitOnly, Class: td.ClassRingBufferReader,
	Sources: "C 26", Unsure: "all but the class",
	New: func() Params { return &RingBufferReader{} }, Contract: contract("y", "state start?#"),
	Example: Example{"Size=[1,1,8,4,16]", "fp16[1,1,8,16,16]"},

	NoValidator: "a unit; held to what the writer is held to", Check: validateRingBufferReader,

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
	NoTask: "pass ringreader makes views and gathers of it",
}

func (*RingBufferReader) Info() *KindInfo { return &ringBufferReaderInfo }

func (p *RingBufferReader) infer(o *operands) ([]Type, error) {
	if err := ringOffsets(o, 1, p.Live); err != nil {
		return nil, err
	}
	if err := ringWindow(o.dims(0), p.Size, p.Offset, p.Circular, p.Live); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, p.Size)
}

func ringOffsets(o *operands, start int, live []td.Axis) error {
	if err := distinct(live); err != nil {
		return err
	}
	if o.has(start) != (len(live) > 0) {
		return fmt.Errorf("start is there: %t; live axes: %d", o.has(start), len(live))
	}
	if len(live) == 0 {
		return nil
	}
	if err := o.want(start, Dims{1, 1, 1, 1, len(live)}); err != nil {
		return err
	}
	return o.indices(start)
}

// ringWindow holds a window to a state. Where the place is live, only its size
// can be held.
func ringWindow(state, window, offset Dims, circular td.Axes, live []td.Axis) error {
	for i := range state {
		a := td.Axis(i)
		at := offset[i]
		for _, l := range live {
			if l == a {
				at = 0
			}
		}
		if circular.Has(a) && at <= state[a] {
			at = 0
		}
		if at < 0 || window[i] < 0 || window[i] > state[i] || at > state[i]-window[i] {
			return fmt.Errorf("%d elements from %d on along %v leave the state, which has %d", window[i], offset[i], a, state[i])
		}
	}
	return nil
}
