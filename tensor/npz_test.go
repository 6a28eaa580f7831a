package tensor

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// testdata/numpy.npz was written by numpy 1.24: savez of one array per element type and layout.
func TestReadsWhatNumPyWrites(t *testing.T) {
	arrays, err := OpenNPZ("testdata/numpy.npz")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range arrays {
		if a.Tensor.DType() == String {
			got[a.Name] = fmt.Sprintf("%v %q", a.Tensor, a.Tensor.Strings())
		} else {
			got[a.Name] = fmt.Sprintf("%v %v", a.Tensor, a.Tensor.Float64s())
		}
	}
	want := map[string]string{
		"f2":      "fp16[2, 2] [1 -2.5 65504 5.960464477539063e-08]",
		"f4":      "fp32[2, 3] [0 1 2 3 4 5]",
		"f8":      "fp64[3] [NaN +Inf -0]",
		"i1":      "int8[2] [-128 127]",
		"i8":      "int64[] [4.611686018427388e+18]",
		"u2":      "uint16[1] [65535]",
		"b":       "bool[2] [1 0]",
		"s":       `string[3] ["cat" "hûnd" ""]`,
		"empty":   "fp32[0, 3] []",
		"fortran": "int32[2, 3] [0 1 2 3 4 5]",
		"big":     "int32[2] [1 2]",
		"bytes":   `string[2] ["ab" "c"]`,
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %s, expected %s", name, got[name], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d arrays, expected %d", len(got), len(want))
	}
}

func TestNPZRoundTripIsIdentity(t *testing.T) {
	var arrays []Named
	for _, d := range DTypes() {
		for _, shape := range [][]int{{}, {3}, {2, 0}, {2, 1, 5}} {
			n, _ := Count(shape)
			x := New(d, shape...)
			if d == String {
				for i := range x.strs {
					x.strs[i] = strings.Repeat("é", i)
				}
			} else {
				x = FromInt64s(d, seq(n), shape...)
			}
			arrays = append(arrays, Named{fmt.Sprintf("%v%v", d, shape), x})
		}
	}
	var file, again bytes.Buffer
	if err := WriteNPZ(&file, arrays); err != nil {
		t.Fatal(err)
	}
	if err := WriteNPZ(&again, arrays); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Fatal("two writes differ")
	}
	back, err := ReadNPZ(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range arrays {
		b := back[i].Tensor
		if back[i].Name != a.Name || !slices.Equal(b.Shape(), a.Tensor.Shape()) {
			t.Fatalf("%s came back as %s %v", a.Name, back[i].Name, b)
		}
		if a.Tensor.DType() == String {
			if !slices.Equal(a.Tensor.Strings(), b.Strings()) {
				t.Errorf("%s: %q", a.Name, b.Strings())
			}
			continue
		}
		if !slices.Equal(a.Tensor.Float64s(), b.Float64s()) {
			t.Errorf("%s: %v, expected %v", a.Name, b.Float64s(), a.Tensor.Float64s())
		}
		if dtypes[a.Tensor.DType()].npy != "" && b.DType() != a.Tensor.DType() {
			t.Errorf("%s came back as %v", a.Name, b.DType())
		}
	}
}

func TestBadNPY(t *testing.T) {
	file := func(header string, data string) string {
		return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + data
	}
	head := func(descr, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	}
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "not an array file"},
		{"another file", "PK\x03\x04......", "not an array file"},
		{"version 9", npyMagic + "\x09\x00\x00\x00", "version 9"},
		{"no header", npyMagic + "\x01\x00\x10\x00{", "truncated"},
		{"huge header", npyMagic + "\x02\x00\xff\xff\xff\x7f", "not plausible"},
		{"no dictionary", file("[1]", ""), "expected a dictionary"},
		{"no shape", file("{'descr': '<f4', 'fortran_order': False}", ""), "expected the keys"},
		{"key twice", file("{'descr': '<f4', 'descr': '<f4', }", ""), "each key once"},
		{"records", file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", ""), "records"},
		{"objects", file(head("|O", "(1,)"), "x"), "pickle"},
		{"no element type", file(head("|", "(1,)"), "x"), "not known"},
		{"pickled objects", file(head("|O8", "(1,)"), "x"), "pickle"},
		{"complex", file(head("<c8", "(1,)"), "12345678"), "not supported"},
		{"negative length", file(head("<f4", "(-1,)"), ""), "tuple of lengths"},
		{"too many elements", file(head("<f4", "(1099511627776, 1099511627776)"), ""), "too many elements"},
		{"more promised than there", file(head("<f4", "(1000000000,)"), "1234"), "expected 4000000000 bytes"},
		{"endless text", file(head("<U1048576", "(1073741824,)"), "1234"), "does not fit in memory"},
	} {
		_, err := ReadNPY(strings.NewReader(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, expected one that says %q", tc.name, err, tc.want)
		}
	}
}

func TestNPZRefusesDamage(t *testing.T) {
	whole, err := os.ReadFile("testdata/numpy.npz")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(whole, []byte("\x00\x3c\x00\xc1")) // 1, -2.5 as halves: the checksum must notice
	if at < 0 {
		t.Fatal("the fixture does not hold the array")
	}
	bad := slices.Clone(whole)
	bad[at] ^= 1
	if _, err := ReadNPZ(bytes.NewReader(bad), int64(len(bad))); err == nil || !strings.Contains(err.Error(), `"f2"`) {
		t.Errorf("a flipped bit gives %v", err)
	}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		if _, err := ReadNPZ(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Errorf("the first %d bytes are an archive", n)
		}
	}
}

func FuzzNPZ(f *testing.F) {
	for _, name := range []string{"testdata/numpy.npz", "testdata/compressed.npz"} {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		arrays, err := ReadNPZ(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var file bytes.Buffer
		if err := WriteNPZ(&file, arrays); err != nil {
			t.Fatal(err)
		}
		back, err := ReadNPZ(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil || len(back) != len(arrays) {
			t.Fatalf("what was read cannot be read back: %v", err)
		}
		for i := range back {
			if !bytes.Equal(back[i].Tensor.Bytes(), arrays[i].Tensor.Bytes()) {
				t.Fatalf("array %q changed", arrays[i].Name)
			}
		}
	})
}

func FuzzNPY(f *testing.F) {
	for _, d := range []DType{Float16, Int64, Bool, String} {
		var b bytes.Buffer
		x := New(d, 2, 2)
		if d == Float16 {
			x = FromFloat32s(d, []float32{1, float32(math.NaN()), -0, 3}, 2, 2)
		}
		if err := WriteNPY(&b, x); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadNPY(bytes.NewReader(b))
		if err == nil && x.Len() > 0 && x.DType() != String && len(x.Bytes()) > len(b) {
			t.Fatalf("%d bytes became %d", len(b), len(x.Bytes()))
		}
	})
}
