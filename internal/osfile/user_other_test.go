//go:build unix && !linux

package osfile

import "testing"

func asOrdinaryUser(t *testing.T, _ string) {
	t.Helper()
	t.Skip("running as root, whom permissions do not bind")
}
