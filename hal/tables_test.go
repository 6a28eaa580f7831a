package hal

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFullSet holds the rows that a source has to the list of the guide's chapter
// 34: name, cores, and the index of the family (chapter 24 and 35).
func TestFullSet(t *testing.T) {
	const published = `
h11 4 0
h12 4 1
m9 1 0
t0 4 0
h13 4 2
h13g 8 2
t1 4 2
h14 4 3
h14g 8 3
h14c 32 3
h15 4 4
h15g 8 4
h15c 32 4
h16 4 5
h16g 8 5
h16s 16 5
h16c 32 5
h17 4 6
h17a 4 6
h17g 8 6
h17s 16 6
h17c 32 6
h17d 64 6
h18 4 7
m11 1 5
u1 4 0
u2 4 0
u3 4 0
`
	var got strings.Builder
	got.WriteByte('\n')
	for _, target := range Targets()[1:] {
		if target.row.like != "" {
			continue
		}
		got.WriteString(target.Name + " " + strconv.Itoa(target.Cores) + " " + strconv.Itoa(int(target.Family)) + "\n")
	}
	if got.String() != published {
		t.Errorf("got %s\nwant %s", got.String(), published)
	}
	suffixes := map[byte]int{'g': 8, 's': 16, 'c': 32, 'd': 64}
	for _, target := range Targets()[1:] {
		if n, ok := suffixes[target.Name[len(target.Name)-1]]; ok && target.Cores != n {
			t.Errorf("%s has %d cores, its suffix says %d", target.Name, target.Cores, n)
		}
	}
}

// columns are the targets that the columns of the published tables stand for:
// before A13, A13, A14, A15, A16 and later.
var columns = [][]string{
	{"h11", "h12", "m9", "t0"},
	{"h13", "h13g", "t1"},
	{"h14", "h14g", "h14c"},
	{"h15", "h15g", "h15c"},
	{"h16", "h16g", "h16s", "h16c", "h17", "h17a", "h17g", "h17s", "h17c", "h17d", "h18"},
}

// TestPublishedLimits holds the rows to the table of limits of the guide's
// appendix A, cell by cell. A cell with slashes has several values.
func TestPublishedLimits(t *testing.T) {
	const published = `
kernel_width_large_max                                                | 29       | 29         | 32         | 32         | 32
kernel_width_large_max_fp16                                           | 13       | 13         | 16         | 16         | 16
kernel_width_small_max                                                | 15       | 15         | 16         | 16         | 16
kernel_width_small_max_fp16                                           | 7        | 7          | 8          | 8          | 8
kernel_width_large_min/kernel_width_large_min_fp16                    | 16/8     | 16/8       | 1/1        | 1/1        | 1/1
kernel_height_large_max/kernel_height_small_max                       | 29/15    | 29/15      | 32/16      | 32/16      | 32/16
kernel_depth_large_max/kernel_depth_small_max                         | 1/1      | 16/8       | 16/8       | 16/8       | 16/8
patch_width_border_max/patch_height_border_max/patch_depth_border_max | 15/15/0  | 28/28/15   | 31/31/15   | 31/31/15   | 31/31/15
tensor_width_max/tensor_height_max                                    | 16384/16384 | 16384/16384 | 16384/16384 | 16384/16384 | 65536/65536
tensor_depth_max                                                      | 1        | 16384      | 16384      | 16384      | 65536
tensor_channels_max                                                   | 65536    | 65536      | 65536      | 65536      | 65536
tensor_batch_max                                                      | 4096     | 65536      | 65536      | 65536      | 65536
transpose_extent_max                                                  | 0        | 16384      | 16384      | 16384      | 65536
reduction_via_transpose                                               | no limit | 192        | 192        | 384        | 384
group_conv_decompose                                                  | 64       | 2048       | 2048       | 2048       | 2048
stride_factors                                                        | 2, 3, 4, 8 | 2, 3, 4, 8 | 2, 3, 4, 8 | 2, 3, 4, 8 | 2, 3, 4, 8
working_set                                                           | 2 MiB    | 2 MiB      | 2 MiB      | 2 MiB      | 2 MiB
dma_granule                                                           | 16 bytes | 16 bytes   | 16 bytes   | 16 bytes   | 16 bytes
patch_width_floor/patch_width_max                                     | 0 pixels/0 pixels | 16 pixels/512 pixels | 16 pixels/512 pixels | 16 pixels/512 pixels | 16 pixels/512 pixels
instruction_align                                                     | 256 bytes | 256 bytes | 16 bytes   | 16 bytes   | 16 bytes
texture-engine                                                        | 0        | 0          | 1          | 1          | 1
kernel_memory_dense                                                   | 64 KiB   | 64 KiB     | 64 KiB     | 64 KiB     | 64 KiB
activation_table                                                      | 150 bytes | 86 bytes  | 86 bytes   | 86 bytes   | 86 bytes
live_tensors                                                          | 2        | 2          | no limit   | no limit   | no limit
resident_buffer                                                       | 0 bytes  | 0 bytes    | 0 bytes    | 32 KiB     | 256 KiB
bank_align                                                            | 64       | 64         | 64         | 64         | 64
kernel_memory_streamed                                                | 16 MiB   | 16 MiB     | 16 MiB     | 16 MiB     | 16 MiB
count                                                                 | 0        | 3          | 13         | 16         | 14
`
	different := map[string]string{"m9 working_set": "1 MiB"}
	cells := 0
	for line := range strings.Lines(strings.TrimSpace(published)) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		names := strings.Split(strings.TrimSpace(fields[0]), "/")
		for i, cell := range fields[1:] {
			for j, published := range strings.Split(strings.TrimSpace(cell), "/") {
				for _, name := range columns[i] {
					want := published
					if other := different[name+" "+names[j]]; other != "" {
						want = other
					}
					cells++
					if got := valueOf(t, name, names[j]); got.Text != want {
						t.Errorf("%s: %s is %s, want %s", name, names[j], got.Text, want)
					}
				}
			}
		}
	}
	if cells < 28*20 {
		t.Errorf("only %d cells were compared", cells)
	}
}

func valueOf(t *testing.T, target, value string) Value {
	t.Helper()
	row, err := Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range row.Values() {
		if v.Name == value {
			return v
		}
	}
	t.Fatalf("%s has no value %s", target, value)
	return Value{}
}

// TestPublishedCapabilities holds the bytes to the tables of the guide's
// chapters 24 (M1, A14, A15, A16, A18), 7 (M1, A14, A15, A16 and A17) and 36
// (M1, A14, A15, M5, H18), cell by cell, and to chapter 4 (before A13).
func TestPublishedCapabilities(t *testing.T) {
	chapter24 := []string{"h13", "h14", "h15", "h16", "h18"}
	chapter7 := []string{"h13", "h14", "h15", "h16", "h17s"}
	chapter36 := []string{"h13", "h14", "h15", "h17s", "h18", "m11"}
	chapter4 := []string{"h11", "h13", "h14", "h15"}
	for _, c := range []struct {
		byte    Capability
		targets []string
		want    string
	}{
		{0x48f, chapter24, "11111"},
		{0x494, chapter24, "01111"},
		{0x4a9, chapter24, "00111"},
		{0x4f2, chapter24, "11111"},
		{0x529, chapter24, "11111"},
		{0x52d, chapter24, "00001"},
		{0x563, chapter24, "00001"},
		{0x815, chapter24, "11111"},
		{0x816, chapter24, "11111"},
		{0x81a, chapter24, "11111"},
		{0x81d, chapter24, "01111"},

		{0x48f, chapter7, "11111"},
		{0x528, chapter7, "01111"}, {0x532, chapter7, "01111"}, {0x537, chapter7, "01111"},
		{0x520, chapter7, "00111"}, {0x523, chapter7, "00111"}, {0x533, chapter7, "00111"}, {0x539, chapter7, "00111"},
		{0x529, chapter7, "11111"},

		{0x48b, chapter36, "000000"},
		{0x55c, chapter36, "011111"},
		{0x564, chapter36, "011100"},
		{0x687, chapter36, "001100"},
		{0x4a4, chapter36, "000001"},
		{0x55c, []string{"u1", "u2", "u3"}, "011"},

		{0x815, chapter4, "0111"},
		{0x816, chapter4, "0111"},
		{0x4f2, chapter4, "0111"},
		{0x494, chapter4, "0011"},
		{0x81d, chapter4, "0011"},
		{0x4a9, chapter4, "0001"},
		{0x48f, chapter4, "0111"},

		{0x814, []string{"m9", "h12", "h13"}, "011"}, // chapter 22
	} {
		for i, name := range c.targets {
			target, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			set, status := target.Capability(c.byte)
			if bit(set) != c.want[i:i+1] || status != Decoded || target.Has(c.byte) != set {
				t.Errorf("%s: byte %v is %s, %v; want %c", name, c.byte, bit(set), status, c.want[i])
			}
		}
	}
	for _, target := range Targets()[1:] {
		if want := target.tier == a18Tier; target.Has(CapFP8Kernel) != want {
			t.Errorf("%s: fp8 is %t", target.Name, !want)
		}
	}
	if !slices.IsSortedFunc(Capabilities(), func(a, b CapabilityInfo) int { return int(a.Byte) - int(b.Byte) }) {
		t.Error("the bytes are not in order")
	}
	for _, c := range Capabilities() {
		if len(c.tiers) != 9 || c.Name == "" || c.Gates == "" || c.Source == "" {
			t.Errorf("%v: row is not whole", c.Byte)
		}
	}
	virtual := Targets()[0]
	if set, status := virtual.Capability(0x123); set || status != Unknown {
		t.Error("a byte of no table is known")
	}
}

// TestValues holds every value of every target to have a source and a status
// that fits.
func TestValues(t *testing.T) {
	for _, target := range Targets() {
		seen := make(map[string]bool)
		for _, v := range target.Values() {
			key := v.Group + " " + v.Name
			if v.Source == "" || v.Text == "" || seen[key] {
				t.Errorf("%s: %s has no source or no text, or stands twice", target.Name, key)
			}
			if (v.Text == "?") != (v.Status == Unknown) {
				t.Errorf("%s: %s is %s and %v", target.Name, key, v.Text, v.Status)
			}
			seen[key] = true
		}
	}
}

// TestMonotone holds that a later base target takes all that an earlier one
// does, and that more cores are never slower.
func TestMonotone(t *testing.T) {
	base := Base()
	for i, later := range base[1:] {
		earlier := base[i]
		if later.Family <= earlier.Family {
			t.Errorf("%s is not a later family than %s", later.Name, earlier.Name)
		}
		l, e := later.Limits, earlier.Limits
		for axis := range l.Tensor {
			if l.Tensor[axis] < e.Tensor[axis] {
				t.Errorf("%s: axis %d is shorter than on %s", later.Name, axis, earlier.Name)
			}
		}
		for class := range l.KernelWidth {
			for format, r := range l.KernelWidth[class] {
				if r.Max < e.KernelWidth[class][format].Max || r.Min > e.KernelWidth[class][format].Min {
					t.Errorf("%s: kernel widths %v do not hold those of %s", later.Name, r, earlier.Name)
				}
			}
		}
		if l.Transpose < e.Transpose || l.LiveTensors < e.LiveTensors || l.KernelHeight[Large] < e.KernelHeight[Large] {
			t.Errorf("%s has tighter limits than %s", later.Name, earlier.Name)
		}
		for _, c := range []Capability{CapKernelStreaming, CapSquareAfterReduction, CapDropoutRandom, CapGlobalArgMinMax, CapSoftmax, CapInstanceNorm, CapLRN, CapTexture} {
			if earlier.Has(c) && !later.Has(c) {
				t.Errorf("%s loses byte %v", later.Name, c)
			}
		}
		for _, f := range WeightForms() {
			before, _ := earlier.Streams(f.Form)
			if now, _ := later.Streams(f.Form); before && !now {
				t.Errorf("%s folds %s, %s streams it", later.Name, f.Name, earlier.Name)
			}
		}
	}
	for _, a := range Targets()[1:] {
		for _, b := range Targets()[1:] {
			if a.Stands() != nil || b.Stands() != nil {
				continue // whose cores are those of no chip
			}
			if a.Family == b.Family && a.Cores < b.Cores && a.Cost != nil && b.Cost != nil && a.Cost.Bandwidth >= b.Cost.Bandwidth {
				t.Errorf("%s has less bandwidth than %s", b.Name, a.Name)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	for _, c := range []struct {
		target string
		form   WeightForm
		want   bool
		status Status
	}{
		{"h13", Int8Affine, false, Measured},
		{"h13", Palette, true, Measured},
		{"h13", Sparse, true, Measured},
		{"h13", Blockwise, false, Measured},
		{"h14", Int8Affine, true, Measured},
		{"h14", Blockwise, false, Measured},
		{"h13g", Int8Affine, false, Measured},
		{"h13c", Int8Affine, false, Predicted},
		{"h14s", Blockwise, false, Measured},
		{"h15", Blockwise, true, Predicted},
		{"h17s", Blockwise, true, Measured},
		{"h12", Palette, false, Decoded},
		{"h17", FP8Palette, false, Decoded},
		{"h18", FP8Palette, true, Predicted},
		{"virtual", Blockwise, true, Decoded},
	} {
		target, err := Lookup(c.target)
		if err != nil {
			t.Fatal(err)
		}
		if got, status := target.Streams(c.form); got != c.want || status != c.status {
			t.Errorf("%s streams form %d: %t, %v; want %t, %v", c.target, c.form, got, status, c.want, c.status)
		}
	}
	for i, f := range WeightForms() {
		if int(f.Form) != i || len(f.families) != 8 || f.Source == "" {
			t.Errorf("%s: row is not whole", f.Name)
		}
		if form, ok := FormOf(f.MIL); f.MIL != "" && (!ok || form != f.Form) {
			t.Errorf("%s is not the form of %s", f.Name, f.MIL)
		}
	}
}

func TestFloors(t *testing.T) {
	for operation, want := range map[string]Family{
		"convolution": A11Legacy, "transpose": A11Legacy,
		"softmax": A13, "sdpa": A13, "sqrt": A13,
		"crop_resize": A14, "resample": A14,
		"sin": A15, "cos": A15, "global_arg_min_max": A15,
	} {
		if got, ok := MinimumFamily(operation); !ok || got != want {
			t.Errorf("the floor of %s is %v, %t; want %v", operation, got, ok, want)
		}
	}
	if _, ok := MinimumFamily("scatter"); ok {
		t.Error("scatter has a floor")
	}
	seen := make(map[string]bool)
	for _, f := range Floors() {
		if f.Family > A15 || f.Source == "" {
			t.Errorf("a floor at %v, source %q", f.Family, f.Source)
		}
		for _, operation := range f.Operations {
			if seen[operation] {
				t.Errorf("%s has two floors", operation)
			}
			seen[operation] = true
		}
	}
}

// TestCost holds the anchors to the published ones, and that there are none
// where the compiler has no cost model.
func TestCost(t *testing.T) {
	for _, target := range Targets() {
		c := target.Cost
		none := target.Family < A13 || slices.Contains([]string{"m11", "virtual"}, target.Name)
		if none != (c == nil) {
			t.Errorf("%s: anchors %v", target.Name, c)
		}
		if c == nil {
			continue
		}
		fitted := target.on("h13g") || target.on("h17s")
		if fitted != (c.Status == Measured) || fitted != (c.FitError > 0) || c.PeakFLOPS <= 0 || c.Bandwidth <= 0 || c.DispatchFloor <= 0 || c.Source == "" {
			t.Errorf("%s: anchors %+v", target.Name, *c)
		}
	}
	h13, _ := Lookup("h13")
	if c := h13.Cost; c.PeakFLOPS != 3.25e12 || c.Bandwidth != 9e9 || c.MedianError != 0.31 {
		t.Errorf("h13: %+v", *c)
	}
	h17d, _ := Lookup("h17d")
	if c := h17d.Cost; c.Bandwidth != 4*57e9 {
		t.Errorf("h17d has four times the cores of h17s: %+v", *c)
	}
}

func TestNumericsOfTargets(t *testing.T) {
	for _, c := range []struct {
		target     string
		saturates  float32
		flushes    bool
		widthSlice float32
	}{
		{"virtual", 0, false, 0},
		{"h13", 32768, true, 4094},
		{"h13g", 32768, true, 4094},
		{"h13c", 32768, true, 4094},
		{"h14g", 32768, false, 4094},
		{"h15", 0, false, 0},
		{"h17s", 0, false, 0},
	} {
		target, err := Lookup(c.target)
		if err != nil {
			t.Fatal(err)
		}
		n := target.Numerics
		if n.SaturateAtPort != c.saturates || n.FlushArraySubnormals != c.flushes || target.WidthSlice != c.widthSlice || !n.RoundHalfEven {
			t.Errorf("%s: %v, width slices %g", c.target, n, target.WidthSlice)
		}
	}
}

func TestConflicts(t *testing.T) {
	for _, c := range Conflicts() {
		if c.Matter == "" || c.One == "" || c.Other == "" || c.Choice == "" {
			t.Errorf("%q: row is not whole", c.Matter)
		}
		for _, name := range c.Targets {
			if _, err := Lookup(name); err != nil {
				t.Errorf("%s: %v", c.Matter, err)
			}
		}
	}
}
