package diag

import (
	"errors"
	"fmt"
	"testing"
)

func TestFindingIsAnError(t *testing.T) {
	f := &Finding{ID: ConvKernelRange, Text: "the kernel is too wide", Limit: "[1, 13]", Found: "15", Place: Place{Function: "main", Operation: "y", Line: 12, Layer: "y_1"}}
	const want = `function "main", operation "y" (line 12), layer "y_1": the kernel is too wide (limit [1, 13], found 15)`
	if f.Error() != want {
		t.Errorf("got  %s\nwant %s", f.Error(), want)
	}
	wrapped := fmt.Errorf("segment 1: %w", f)
	if got, ok := errors.AsType[*Finding](wrapped); !ok || got != f {
		t.Errorf("errors.As finds %v", got)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		place Place
		want  string
	}{
		{Place{}, ""},
		{Place{File: "m.mil", Function: "main"}, `m.mil, function "main"`},
		{Place{Operation: "y", Offset: 77}, `operation "y" (byte 77)`},
		{Place{Operation: "y", Layer: "y"}, `operation "y"`},
		{Place{Layer: "pad"}, `layer "pad"`},
	} {
		if got := c.place.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// What a finding does not say its row does.
func TestAt(t *testing.T) {
	f := Finding{ID: CodegenSort, Text: "no"}
	at := f.At(Note, Place{Operation: "s"})
	if at.Severity != Note || at.Confidence != Measured || at.Place.Operation != "s" || f.Place.Operation != "" {
		t.Errorf("%+v of %+v", at, f)
	}
	if at := f.At(0, Place{}); at.Severity != Fallback {
		t.Errorf("as grave as its row: %v", at.Severity)
	}
	f.Confidence = Disputed
	if at := f.At(Fallback, Place{}); at.Confidence != Disputed {
		t.Errorf("its own confidence is %v", at.Confidence)
	}
	hazard := Finding{ID: SumOverflows}
	if e := hazard.At(Hazard, Place{}).Effect(); e != WrongNumbers {
		t.Errorf("the effect is %v", e)
	}
	if e := hazard.At(Note, Place{}).Effect(); e != 0 {
		t.Errorf("the effect of a note is %v", e)
	}
}

func TestReasons(t *testing.T) {
	plain := Decline(NoTask, "%d channels", 7)
	if plain.Text() != "7 channels" || plain.Error() != "7 channels" {
		t.Errorf("%q, %q", plain.Text(), plain.Error())
	}
	whole := plain.In("KernelCfg.Width").Measure(13, 15)
	if want := "KernelCfg.Width: 7 channels (limit 13, found 15)"; whole.Error() != want {
		t.Errorf("got %q, want %q", whole.Error(), want)
	}
	if about := whole.Of("conv"); about.Error() != `KernelCfg.Width: "conv" 7 channels (limit 13, found 15)` {
		t.Errorf("got %q", about.Error())
	}
	if plain.Field != "" || plain.Limit() != "" || plain.Found() != "" || plain.Text() != "7 channels" {
		t.Errorf("a reason that is shared has changed: %+v", plain)
	}
	want := Finding{ID: NoTask, Severity: Fallback, Confidence: Predicted, Text: "KernelCfg.Width: 7 channels", Limit: "13", Found: "15"}
	if got := *whole.Finding(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Words before a reason leave its record as it is.
func TestReasonAfter(t *testing.T) {
	inner := Decline(NativeWindow, "is %d columns wide", 9).Of("w").In("KernelWidth").Measure(7, 9)
	r := inner.After("its ", "Conv", ": ")
	if r.ID != inner.ID || r.Field != inner.Field || r.Limit() != "7" || r.Found() != "9" {
		t.Errorf("the record is %+v", r)
	}
	if got, want := r.Error(), "its Conv: "+inner.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if f := r.Finding(); f.Limit != "7" || f.Found != "9" || f.Text != "its Conv: KernelWidth: \"w\" is 9 columns wide" {
		t.Errorf("the finding is %+v", f)
	}
}

func TestFindingOf(t *testing.T) {
	reason := Decline(NoLayer, "it is a list").Measure("tensors", "a list")
	f := &Finding{ID: PadChannel, Text: "no"}
	for _, c := range []struct {
		err  error
		want Finding
	}{
		{f, *f},
		{reason, *reason.Finding()},
		{fmt.Errorf("parameter x: %w", reason), Finding{ID: NoLayer, Severity: Fallback, Confidence: Predicted, Text: "parameter x: it is a list (limit tensors, found a list)"}},
		{fmt.Errorf("layer: %w", f), Finding{ID: PadChannel, Severity: Fallback, Confidence: Decoded, Text: "layer: no"}},
		{errors.New("else"), Finding{ID: NoTask, Severity: Fallback, Confidence: Predicted, Text: "else"}},
	} {
		if got := *FindingOf(c.err, NoTask); got != c.want {
			t.Errorf("%v:\n got %+v\nwant %+v", c.err, got, c.want)
		}
	}
}

var declined *Reason

// Declining formats nothing: it costs the reason and the list of its arguments.
func BenchmarkDecline(b *testing.B) {
	b.ReportAllocs()
	for width := 0; b.Loop(); width++ {
		declined = Decline(NoTask, "a kernel of %d along the width", width)
	}
}
