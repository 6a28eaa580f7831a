package aneclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/netplist"
)

// Options are what calls are given by name: a dictionary there. A property list is the same (ParseOptions).
type Options struct {
	Numerics  string // profile of the engine; "": the target's
	Strict    bool   // refuse what the chip itself could not run
	StatsMask uint32 // of a model when it is loaded; see Model.SetStatsMask
	DebugMask uint32 // of a compilation: any bit keeps what the compiler says of its passes, see Model.CompilerLog
}

// optionKeys are the keys of a property list.
var optionKeys = map[string]func(*Options, any) error{
	"numerics":                  func(o *Options, v any) error { return optionText(&o.Numerics, v) },
	"strict":                    func(o *Options, v any) error { return optionBool(&o.Strict, v) },
	"kANEFPerformanceStatsMask": func(o *Options, v any) error { return optionNumber(&o.StatsMask, v, statsBits) },
	"debug_mask":                func(o *Options, v any) error { return optionNumber(&o.DebugMask, v, 1<<32-1) },
}

// ParseOptions reads a property list, XML or binary. No bytes are no options.
func ParseOptions(plist []byte) (o Options, err error) {
	if len(plist) == 0 {
		return o, nil
	}
	d, err := netplist.ReadDict(plist)
	if err != nil {
		return o, ErrBadArgument.because(err)
	}
	for _, key := range slices.Sorted(maps.Keys(d)) {
		set := optionKeys[key]
		if set == nil {
			return o, ErrBadArgument.saying("option %q is not known: there are %s", key, strings.Join(slices.Sorted(maps.Keys(optionKeys)), ", "))
		}
		if err := set(&o, d[key]); err != nil {
			return o, ErrBadArgument.saying("option %q: %w", key, err)
		}
	}
	return o, nil
}

func optionText(to *string, v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("it is a %T, want a string", v)
	}
	*to = s
	return nil
}

func optionBool(to *bool, v any) error {
	b, ok := v.(bool)
	if !ok {
		return fmt.Errorf("it is a %T, want a boolean", v)
	}
	*to = b
	return nil
}

func optionNumber(to *uint32, v any, most uint64) error {
	n, ok := v.(int64)
	if !ok || n < 0 || uint64(n) > most {
		return fmt.Errorf("it is %v, want an integer from 0 to %d", v, most)
	}
	*to = uint32(n)
	return nil
}
