package td

import "testing"

func TestValueNames(t *testing.T) {
	for f, names := range v7Values {
		for v, name := range names {
			if w, err := f.Put(0, v); err != nil || f.Of(w) != v {
				t.Errorf("%v: %d (%s) does not fit: %v", f, v, name, err)
			}
			if f.ValueName(v) != name {
				t.Errorf("%v: %d is %q, want %q", f, v, f.ValueName(v), name)
			}
		}
	}
	if got := V7Win.ValueName(3); got != "" {
		t.Errorf("a width has the name %q", got)
	}
	if got := V7NEOperation.ValueName(7); got != "" {
		t.Errorf("an unknown operation has the name %q", got)
	}
	for _, c := range []struct{ got, want string }{
		{FormCentred.String(), "centred"}, {TableForm(2).String(), "form 2"},
		{SignOdd.String(), "odd"}, {TableSign(1).String(), "sign treatment 1"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
