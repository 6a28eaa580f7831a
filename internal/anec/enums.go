package anec

import "fmt"

// The numbers of the tokens are Apple's (guide C.1) as far as Apple has them.
// Ours begin at 64.

// nameOf returns the name with a number, or the number itself.
func nameOf[T ~uint8](names map[T]string, i T, what string) string {
	if s, ok := names[i]; ok {
		return s
	}
	return fmt.Sprintf("%s %d", what, uint8(i))
}

// valid complains of the first token without a name.
func valid(tokens ...interface {
	Valid() bool
	String() string
}) error {
	for _, t := range tokens {
		if !t.Valid() {
			return fmt.Errorf("%v is not known", t)
		}
	}
	return nil
}
