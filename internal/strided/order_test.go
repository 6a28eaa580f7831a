package strided

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Keys order the elements of every type, also where a float32 or an int64 does
// not hold them.
func TestKeys(t *testing.T) {
	le := binary.LittleEndian
	u64 := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	f64 := func(v float64) []byte { return u64(math.Float64bits(v)) }
	f32 := func(v float32) []byte { return le.AppendUint32(nil, math.Float32bits(v)) }
	inf := math.Inf(1)
	for _, tt := range []struct {
		typ    tensor.DType
		rising [][]byte
	}{
		{tensor.UInt64, [][]byte{u64(0), u64(1), u64(math.MaxInt64), u64(1 << 63), u64(math.MaxUint64)}},
		{tensor.Int64, [][]byte{u64(1 << 63), u64(math.MaxUint64), u64(0), u64(math.MaxInt64 - 1), u64(math.MaxInt64)}},
		{tensor.Float64, [][]byte{f64(-inf), f64(-math.MaxFloat64), f64(-1 - 0x1p-52), f64(-1), f64(-5e-324), f64(0), f64(5e-324), f64(1), f64(1 + 0x1p-52), f64(inf)}},
		{tensor.Float32, [][]byte{f32(float32(-inf)), f32(-1), f32(-0x1p-149), f32(0), f32(0x1p-149), f32(1), f32(float32(inf))}},
		{tensor.Int8, [][]byte{{0x80}, {0xff}, {0}, {1}, {0x7f}}},
		{tensor.Bool, [][]byte{{0}, {1}}},
	} {
		for _, order := range []keying{{false, nanLast, false}, {true, nanLast, false}, {false, nanFirst, false}, {true, nanFirst, false}} {
			for i := range tt.rising[1:] {
				a, b := order.key(tt.typ, tt.rising[i], 0), order.key(tt.typ, tt.rising[i+1], 0)
				if a == b || (a < b) == order.descending {
					t.Errorf("%v %v: elements %d and %d have keys %d and %d", tt.typ, order, i, i+1, a, b)
				}
			}
		}
	}
	for _, order := range []keying{{false, nanLast, false}, {true, nanLast, false}, {false, nanFirst, false}, {true, nanFirst, false}} {
		if a, b := order.key(tensor.Float32, f32(0), 0), order.key(tensor.Float32, f32(float32(math.Copysign(0, -1))), 0); a != b {
			t.Errorf("%v: zeros have keys %d and %d", order, a, b)
		}
		for _, nan := range [][]byte{f64(math.NaN()), f64(math.Copysign(math.NaN(), -1))} {
			if key := order.key(tensor.Float64, nan, 0); key != order.nan {
				t.Errorf("%v: NaN has the key %d", order, key)
			}
		}
	}
}

// Where rules make +inf of NaN, it stands there.
func TestKeysUnderRules(t *testing.T) {
	o := &Operand{Operand: td.Operand{Type: tensor.Float32}, pass: passNaN}
	for _, descending := range []bool{false, true} {
		order := keyingOf(o, descending, nanLast)
		if order.float(math.NaN()) != order.float(math.Inf(1)) {
			t.Errorf("descending %v: NaN is not +inf", descending)
		}
	}
}
