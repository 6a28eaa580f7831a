//go:build amd64

package attention

//go:noescape
func scoresAVX2(c *scoresCall, lane int)

//go:noescape
func powersAVX2(c *powersCall)

//go:noescape
func valuesAVX2(c *valuesCall)
