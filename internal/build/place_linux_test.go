//go:build linux

package build

import (
	"errors"
	"testing"
)

// The place of the system: XDG_CACHE_HOME, or ~/.cache, or none.
func TestPlaceOfSystem(t *testing.T) {
	t.Setenv(EnvPlace, "")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	t.Setenv("HOME", "/home/someone")
	if got, err := Place(""); got != "/xdg/espalier" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	if got, err := Place(""); got != "/home/someone/.cache/espalier" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("HOME", "")
	if got, err := Place(""); !errors.Is(err, ErrNoPlace) {
		t.Errorf("%q, %v", got, err)
	}
	if c, err := At(""); c != nil || err != nil {
		t.Errorf("without a place: %v, %v", c, err)
	}
}
