package testkit

import "os"

// Tests keep off the cache of the user who runs them. One that is about the cache names a folder of its own; so do the processes
// that it starts, which know by envTesting that they are a test's.
func init() {
	if os.Getenv(envTesting) != "1" {
		os.Setenv("ESPALIER_CACHE", "off")
		os.Setenv(envTesting, "1")
	}
}

const envTesting = "ESPALIER_TESTING"
