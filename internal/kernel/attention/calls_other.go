//go:build !amd64

package attention

func callRows(*rowsCall)               {}
func callTurn(*turnCall) int           { return 0 }
func callScores(*scoresCall, int)      {}
func callPowers(*powersCall)           {}
func callValues(*valuesCall, int, int) {}
func callPut(*putCall)                 {}
func callDown(*downCall)               {}
