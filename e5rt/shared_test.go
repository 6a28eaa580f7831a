package e5rt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// A state takes no memory in which its elements lie on each other.
func TestSharedElementsAreNoState(t *testing.T) {
	for strides, bad := range map[[2]int]bool{{8, 4}: false, {4, 8}: false, {16, 4}: false, {0, 0}: true, {4, 4}: true, {8, 0}: true} {
		s := e5rt.NewState(e5rt.Port{Name: "s", Type: tensor.Float32, Shape: []int{2, 2}})
		b, err := e5rt.NewBuffer(e5rt.Layout{Type: tensor.Float32, Shape: []int{2, 2}, Strides: strides[:], Bytes: 64})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Bind("s", b); (err != nil) != bad {
			t.Errorf("strides %v: %v", strides, err)
		}
	}
}

// A value that is given up without a reason has one.
func TestGivenUpWithoutReason(t *testing.T) {
	e := e5rt.NewEvent()
	e.Fail(3, nil)
	if err := e.Wait(context.Background(), 2); err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("found %v", err)
	}
}
