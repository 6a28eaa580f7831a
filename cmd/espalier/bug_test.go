package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A panic, here or in work that was left to another goroutine, exits with a code of its own and says what to do.
func TestBugIsReported(t *testing.T) {
	for name, panics := range map[string]func(){
		"here":      func() { panic("bug: the impossible") },
		"elsewhere": func() { await(t.Context(), func() error { panic("bug: the impossible") }) },
		"further": func() {
			await(t.Context(), func() error { return await(t.Context(), func() error { panic("bug: the impossible") }) })
		},
	} {
		var stderr strings.Builder
		code := func() (code int) {
			defer reportBug([]string{"run", "model.mil"}, &stderr, &code)
			panics()
			return exitDone
		}()
		if code != 4 {
			t.Errorf("%s: exit code %d", name, code)
		}
		for _, want := range []string{"espalier: bug: the impossible\n", "Please report it at", "/issues", "espalier run model.mil\n", "TestBugIsReported"} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, &stderr)
			}
		}
	}
}

func TestAwait(t *testing.T) {
	boom := errors.New("boom")
	for _, want := range []error{nil, boom} {
		if err := await(t.Context(), func() error { return want }); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	leave := make(chan bool)
	defer close(leave)
	if err := await(ctx, func() error { cancel(); <-leave; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
