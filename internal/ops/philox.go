package ops

import "math/bits"

// philox is the counter-based random number generator Philox4x32-10 of Salmon, Moraes, Dror and Shaw ("Parallel
// random numbers: as easy as 1, 2, 3", 2011): ten rounds that turn a 128-bit counter into four random words
// under a 64-bit key. It needs no state, so the i-th number can be had without the ones before it.
type philox struct{ key [2]uint32 }

// The multipliers of a round and the steps of the key between rounds, from the paper.
const (
	philoxMul0, philoxMul1   = 0xD2511F53, 0xCD9E8D57
	philoxStep0, philoxStep1 = 0x9E3779B9, 0xBB67AE85
)

// block returns the four words of a counter.
func (p philox) block(counter [4]uint32) [4]uint32 {
	c, key := counter, p.key
	for range 10 {
		hi0, lo0 := bits.Mul32(philoxMul0, c[0])
		hi1, lo1 := bits.Mul32(philoxMul1, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ key[0], lo1, hi0 ^ c[3] ^ key[1], lo0}
		key[0] += philoxStep0
		key[1] += philoxStep1
	}
	return c
}

// word returns the i-th word of the stream: word i%4 of block i/4, the number of the block being the counter's
// low 64 bits.
func (p philox) word(i int) uint32 {
	n := uint64(i) / 4
	return p.block([4]uint32{uint32(n), uint32(n >> 32)})[i%4]
}
