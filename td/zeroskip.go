package td

import (
	"encoding/binary"
	"fmt"
)

// A zero-skipping lane group (h13 3.3) is a bias row, if the kernel has biases,
// then three bytes with the size of the body, then the body. For each input
// channel the body walks the taps of the kernel, extended with zeros to a
// multiple of the stride, phase by phase: of stride 2, first the taps with even
// y and even x, then even y and odd x, and so on. Eight slots, a slot being one
// lane of one tap, share a mask byte, lowest bit first; a halfword follows for
// each bit that is set. A tap has two slots at least, of a task for small images
// four, of which fewer lanes leave the rest empty. Zeros of both signs are left
// out, so a negative zero does not survive.
//
// The section of these records of Apple's compiler comes out with the recorded
// SHA-256. For small images: conv_probe_k3_c64_n64_s16_st2_g1_bias1_same (four
// lanes, biases), ..._c128_n128_s16_st2_g4_bias0_same (two lanes, groups),
// ..._c64_n64_s16_st2_g4_bias1_same (one lane), ..._c64_n64_s16_st2_g64_bias0_same
// and ..._c128_n128_s16_st2_g128_bias1_same (unicast). For others:
// encoder_conv_c256_n256_k3x3_s2_g256_bias1_same (unicast), and with stride 2 along
// x alone encoder_conv_c16_n16_k9x9_s1_g16_bias0_same, whose lanes are two columns
// of the result.

const zeroSkipHead = 3

// walkTaps calls visit with the taps of one input channel in stream order; tap
// is -1 where the extension of the kernel has none.
func (k *Kernel) walkTaps(visit func(tap int)) {
	for py := range k.StrideY {
		for px := range k.StrideX {
			for y := py; y < alignUp(k.Height, k.StrideY); y += k.StrideY {
				for x := px; x < alignUp(k.Width, k.StrideX); x += k.StrideX {
					if y < k.Height && x < k.Width {
						visit(y*k.Width + x)
					} else {
						visit(-1)
					}
				}
			}
		}
	}
}

// tapSlots is the number of slots of a tap.
func (k *Kernel) tapSlots() int {
	if k.Small {
		return max(k.Lanes, 4)
	}
	return max(k.Lanes, 2)
}

// slots is the number of slots of one input channel.
func (k *Kernel) slots() int {
	return alignUp(k.Height, k.StrideY) * alignUp(k.Width, k.StrideX) * k.tapSlots()
}

func (k *Kernel) appendZeroSkip(s []byte, w *Weights, g, p int) ([]byte, error) {
	if k.Bias {
		s = k.appendBias(s, w, g, p)
	}
	head := len(s)
	s = append(s, 0, 0, 0)
	for input := range k.Inputs {
		slot, mask := 0, 0
		k.walkTaps(func(tap int) {
			for lane := range k.tapSlots() {
				if slot%8 == 0 {
					mask = len(s)
					s = append(s, 0)
				}
				var v uint16
				if tap >= 0 && lane < k.Lanes {
					v = k.weight(w, g, p*k.Lanes+lane, input*k.Height*k.Width+tap)
				}
				if v&0x7fff != 0 {
					s[mask] |= 1 << (slot % 8)
					s = binary.LittleEndian.AppendUint16(s, v)
				}
				slot++
			}
		})
	}
	n := len(s) - head - zeroSkipHead
	if n >= 1<<24 {
		return nil, fmt.Errorf("td: kernel: a zero-skipping lane group of %d bytes, its size has 24 bits", n)
	}
	s[head], s[head+1], s[head+2] = byte(n), byte(n>>8), byte(n>>16)
	return s, nil
}

// leastZeroSkip is the size that a stream has at least: sizes and mask bytes,
// one for every eight slots. Unpack allocates nothing before it is sure of them.
func (k *Kernel) leastZeroSkip(engine int) int {
	n := k.laneGroupsOf(engine)
	if n == 0 {
		return 0
	}
	group := zeroSkipHead + k.Inputs*((k.slots()+7)/8)
	if k.Bias {
		group += 2 * k.Lanes
	}
	return k.tableBytes() + k.Groups*n*group
}

func (k *Kernel) readZeroSkip(s []byte, at int, w *Weights, g, p int) (int, error) {
	need := zeroSkipHead
	if k.Bias {
		need += 2 * k.Lanes
	}
	if len(s)-at < need {
		return 0, formatError(at, "a zero-skipping lane group begins with %d bytes, %d are left", need, len(s)-at)
	}
	if k.Bias {
		at = k.readBias(s, at, w, g, p)
	}
	size := int(s[at]) | int(s[at+1])<<8 | int(s[at+2])<<16
	at += zeroSkipHead
	if size > len(s)-at {
		return 0, formatError(at-zeroSkipHead, "a body of %d bytes, %d are left", size, len(s)-at)
	}
	body, begin := s[:at+size], at
	var err error
	for input := range k.Inputs {
		slot := 0
		var mask byte
		k.walkTaps(func(tap int) {
			for lane := range k.tapSlots() {
				if err != nil {
					return
				}
				if slot%8 == 0 {
					if at >= len(body) {
						err = formatError(at, "the body ends before its weights")
						return
					}
					mask = body[at]
					at++
				}
				if mask&(1<<(slot%8)) != 0 {
					if len(body)-at < 2 {
						err = formatError(at, "the body ends before its weights")
						return
					}
					v := binary.LittleEndian.Uint16(body[at:])
					at += 2
					switch o := p*k.Lanes + lane; {
					case tap < 0 || lane >= k.Lanes || o >= k.Outputs:
						err = formatError(at-2, "a weight outside the kernel")
						return
					default:
						w.Values[(g*k.Outputs+o)*k.taps()+input*k.Height*k.Width+tap] = v
					}
				}
				slot++
			}
		})
		if err != nil {
			return 0, err
		}
	}
	if at != len(body) {
		return 0, formatError(begin-zeroSkipHead, "the body has %d bytes, its weights take %d", size, at-begin)
	}
	return at, nil
}
