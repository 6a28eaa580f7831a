//go:build race

package testkit

// Race says that the tests run under the race detector, where nothing takes the time it should.
const Race = true
