package anec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
)

// Every kind has a whole row, and its parts know each other.
func TestKinds(t *testing.T) {
	count := map[Standing]int{}
	names := map[string]Kind{}
	classes := map[td.Class]Kind{}
	for _, k := range Kinds() {
		info := k.Info()
		if info == nil || info.Kind != k || info.Name == "" || !info.Class.Valid() || info.Standing == 0 || info.New == nil {
			t.Fatalf("kind %d has no whole row: %+v", k, info)
		}
		count[info.Standing]++
		if other, taken := names[info.Name]; taken {
			t.Errorf("%v and kind %d have one name", k, other)
		}
		names[info.Name] = k
		if found, ok := KindOf(info.Name); !ok || found != k {
			t.Errorf("%v is not found by its name", k)
		}
		if len(strings.Fields(info.Sources)) == 0 {
			t.Errorf("%v has no source", k)
		}
		for _, s := range strings.Fields(info.Sources) {
			if sources[s] == "" {
				t.Errorf("%v cites %q, which is no source", k, s)
			}
		}
		// Apple's compiler exports a validator, or there is a reason why not.
		exported := info.Standing == Descriptor || info.Standing == Computed
		if exported != (info.Desc != "") || exported != (info.NoValidator == "") || exported != (info.Pattern.Source != "") || exported && info.Check == nil {
			t.Errorf("%v is %v: descriptor name %q, pattern %+v, a check: %t, no validator %q", k, info.Standing, info.Desc, info.Pattern, info.Check != nil, info.NoValidator)
		}
		if info.Standing != Ours && info.Name != info.Class.String() {
			t.Errorf("%v is of class %v: want the name of the class", k, info.Class)
		}
		classes[info.Class] = k

		p := NewParams(k)
		if p.Info().Kind != k {
			t.Errorf("the fields of %v say %v", k, p.Info().Kind)
		}
		if reflect.TypeOf(p).Kind() != reflect.Pointer || len(info.Contract.Tops) == 0 {
			t.Errorf("%v: fields %T with tops %v", k, p, info.Contract.Tops)
		}
		for i, o := range info.Contract.Bottoms {
			if o.Repeats && i != len(info.Contract.Bottoms)-1 || o.Const && o.Weight {
				t.Errorf("%v: bottom %d cannot be %+v", k, i, o)
			}
		}
	}
	// Guide, 22: 45 descriptors, and 5 validators without one.
	if count[Descriptor] != 45 || count[Computed] != 5 {
		t.Errorf("%d descriptors and %d computed kinds, want 45 and 5", count[Descriptor], count[Computed])
	}
	for c := td.Class(1); c <= td.NumClasses; c++ {
		_, kind := classes[c]
		other := slices.ContainsFunc(Absents(), func(a Absent) bool { return a.Class == c })
		if kind == other && c != td.ClassNEBypass {
			t.Errorf("class %v has a kind: %t, and a reason for none: %t", c, kind, other)
		}
	}
}

// The 44 that ANECompiler was seen to export, and SDPA, are the descriptors.
func TestDescriptorNames(t *testing.T) {
	exported := strings.Fields(`AffineTransform BatchToSpace ChannelToSpace Concat Conv CropResize CrossCorrelation
		Dropout DynamicGOC DynamicSlice Flatten Gather GOC InputView InstanceNorm L2Norm LayerNorm Linear LRN
		MatrixMult MinMaxNorm Neuron NMS Pad PixelShuffle PixelUnshuffle Pool Random Reduction Resample Reshape
		Resize ResizeAs RingBufferWriter ScaledElementWise Shape Softmax Sort SpaceToBatch SpaceToChannel Tile
		TopK Transpose Unflatten`)
	want := map[string]bool{"SDPA": true}
	for _, name := range exported {
		want[name] = true
	}
	for _, k := range Kinds() {
		if info := k.Info(); info.Standing == Descriptor {
			if !want[info.Desc] {
				t.Errorf("%v: no descriptor is called %q", k, info.Desc)
			}
			if seen := strings.Contains(" "+info.Sources+" ", " export "); seen != (info.Desc != "SDPA") {
				t.Errorf("%v cites the exports: %t", k, seen)
			}
			delete(want, info.Desc)
		}
	}
	if len(want) > 0 {
		t.Errorf("descriptors without a kind: %v", want)
	}
}
