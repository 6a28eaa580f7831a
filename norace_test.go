//go:build !race

package espalier_test

const raceEnabled = false
