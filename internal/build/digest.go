package build

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
)

// digestPiece is how much of a file is digested in one go, some milliseconds.
const digestPiece = 4 << 20

// digestOf is the SHA-256 of the SHA-256s of the pieces of some data: these can be computed at the same time.
func digestOf(ctx context.Context, data []byte) (sum [32]byte, err error) {
	n := (len(data) + digestPiece - 1) / digestPiece
	sums := make([]byte, 32*n)
	pool.For(n, 1, func(lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			piece := sha256.Sum256(data[i*digestPiece : min((i+1)*digestPiece, len(data))])
			copy(sums[32*i:], piece[:])
		}
	})
	return sha256.Sum256(sums), ctx.Err()
}

// weightDigest is the digest of a weight file: remembered, or computed.
func (c *Cache) weightDigest(ctx context.Context, known identity, data []byte) ([32]byte, error) {
	if known == nil {
		return digestOf(ctx, data)
	}
	id, within, ok := known()
	if !ok {
		return digestOf(ctx, data)
	}
	return c.remembered(id, within, func() ([32]byte, error) { return digestOf(ctx, data) }, func() bool {
		now, _, ok := known()
		return ok && now == id
	})
}

// mappedDigest is the digest of a mapped file.
func (c *Cache) mappedDigest(m *osfile.Mapping) ([32]byte, error) {
	compute := func() ([32]byte, error) { return digestOf(context.Background(), m.Bytes()) }
	id, ok := m.Identity()
	if !ok {
		return compute()
	}
	return c.remembered(id, "", compute, func() bool {
		now, ok := m.Identity()
		return ok && now == id
	})
}

// remembered is the digest of a file that is known by its identity. It is computed if nobody did yet, and kept if the file
// is as it was by then.
func (c *Cache) remembered(id osfile.Identity, within string, compute func() ([32]byte, error), same func() bool) (sum [32]byte, err error) {
	settled := id.Settled(c.now())
	k := digestKey(id, within)
	if settled {
		if d, ok := parseDigest(c.get(k)); ok {
			c.touch(k)
			return d, nil
		}
	}
	if sum, err = compute(); err == nil && settled && same() {
		c.put(k, formatDigest(sum)) // or else it is computed again
	}
	return sum, err
}

// digestKey is the key that the digest of a file is remembered by.
func digestKey(id osfile.Identity, within string) Key {
	h := newHasher("espalier digest of a file 1")
	for _, n := range []uint64{id.Device, id.Inode, uint64(id.Size), uint64(id.Modified), uint64(id.Changed)} {
		h.number(n)
	}
	h.text(within)
	return h.sum()
}

// A digest stands in its output after a word that says what it is.
const digestMagic = "digest\n\x00"

func formatDigest(d [32]byte) []byte { return append([]byte(digestMagic), d[:]...) }

func parseDigest(data []byte) (d [32]byte, ok bool) {
	if len(data) != len(digestMagic)+len(d) || string(data[:len(digestMagic)]) != digestMagic {
		return d, false
	}
	return [32]byte(data[len(digestMagic):]), true
}

// A hasher makes a key of parts, of which none can be taken for another: each stands after its length.
type hasher struct {
	buffer []byte
	state  interface {
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
}

func newHasher(what string) *hasher {
	h := &hasher{state: sha256.New()}
	h.text(what)
	return h
}

func (h *hasher) number(n uint64) {
	h.buffer = binary.LittleEndian.AppendUint64(h.buffer, n)
	h.flush(4096)
}

func (h *hasher) flag(b bool) {
	n := uint64(0)
	if b {
		n = 1
	}
	h.number(n)
}

func (h *hasher) text(s string) {
	h.number(uint64(len(s)))
	h.buffer = append(h.buffer, s...)
	h.flush(4096)
}

func (h *hasher) bytes(b []byte) {
	h.number(uint64(len(b)))
	h.flush(0)
	h.state.Write(b)
}

func (h *hasher) flush(above int) {
	if len(h.buffer) > above {
		h.state.Write(h.buffer)
		h.buffer = h.buffer[:0]
	}
}

func (h *hasher) sum() Key {
	h.flush(0)
	return Key(h.state.Sum(nil))
}
