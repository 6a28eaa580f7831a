package coreml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// FillWeights makes up the weight files of the program that are absent, or Git LFS pointers, and returns their names as the program
// spells them. The files have their records where the program looks for them, so that all that reads weights reads these. Values
// depend on the seed, the file and the place in it only; their sizes are such that a network's values stay finite (see role). It must
// come before the weights are read.
func (m *Model) FillWeights(seed uint64) ([]string, error) {
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	var made []string
	uses := weightUses(p)
	for _, path := range slices.Sorted(maps.Keys(uses)) {
		_, err := m.file.weights.Bytes(path)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLFSPointer):
			return nil, err
		}
		data, err := makeWeights(path, uses[path], seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		m.file.weights.made[path] = data
		made = append(made, path)
	}
	return made, nil
}

// A weightUse is an array of a weight file, and what it is used for.
type weightUse struct {
	offset uint64
	typ    *mil.TensorType
	role   role
}

// weightUses finds the arrays that a program takes from weight files, by file.
func weightUses(p *mil.Program) map[string][]weightUse {
	uses := map[string][]weightUse{}
	seen := map[mil.FileRef]bool{}
	take := func(c *mil.Constant, r role) {
		if c == nil || c.File == nil {
			return
		}
		t, ok := c.Type.(*mil.TensorType)
		key := mil.FileRef{Path: c.File.Path, Offset: c.File.Offset}
		if !ok || seen[key] {
			return
		}
		seen[key] = true
		uses[key.Path] = append(uses[key.Path], weightUse{key.Offset, t, r})
	}
	for _, f := range p.Functions {
		f.Body.Walk(func(op *mil.Operation) {
			for _, in := range op.Inputs {
				for _, arg := range in.Args {
					c := arg.Const
					if arg.Value != nil {
						c = arg.Value.Const()
					}
					take(c, roleOf(op, in.Param))
				}
			}
			if op.Kind != "const" { // decompression of iOS 16 has its arrays as attributes
				for _, a := range op.Attributes {
					take(a.Value, roleOf(op, a.Name))
				}
			}
		})
	}
	walkConstants(p, func(_ *mil.Operation, c *mil.Constant) { take(c, role{}) }) // those that no operation reads
	return uses
}

// makeWeights makes a weight file.
func makeWeights(path string, uses []weightUse, seed uint64) ([]byte, error) {
	size := uint64(blobHeaderSize)
	sizes := make([]uint64, len(uses))
	for i, u := range uses {
		count, ok := u.typ.Shape.Count()
		bytes, fits := u.typ.DType.ByteLen(count)
		if !ok || u.typ.AnyRank || !fits || slices.Index(blobDTypes[:], u.typ.DType) < 1 {
			return nil, damage(int64(min(u.offset, 1<<62)), "an array of type %v cannot live in a file", u.typ)
		}
		sizes[i] = uint64(bytes)
		if u.offset < blobHeaderSize || u.offset%blobAlignment != 0 {
			return nil, damage(int64(min(u.offset, 1<<62)), "no record can lie here")
		}
		if limit := uint64(osfile.Memory()); limit > 0 && (u.offset > limit || sizes[i] > limit) {
			return nil, damage(int64(min(u.offset, 1<<62)), "the weights would take more than the memory of this machine")
		}
		size = max(size, u.offset+blobHeaderSize+sizes[i])
	}
	file := make([]byte, size)
	binary.LittleEndian.PutUint32(file, uint32(len(uses)))
	binary.LittleEndian.PutUint32(file[4:], blobVersion)
	for i, u := range uses {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", path, u.offset)
		data := u.offset + blobHeaderSize
		u.fill(file[data:data+sizes[i]], rand.NewPCG(seed, h.Sum64()))
	}
	for i, u := range uses { // last: arrays that overlap, as they do in no real file, must not damage them
		record := file[u.offset:]
		count, _ := u.typ.Shape.Count()
		binary.LittleEndian.PutUint32(record, blobSentinel)
		binary.LittleEndian.PutUint32(record[4:], uint32(slices.Index(blobDTypes[:], u.typ.DType)))
		binary.LittleEndian.PutUint64(record[8:], sizes[i])
		binary.LittleEndian.PutUint64(record[16:], u.offset+blobHeaderSize)
		if u.typ.DType.SubByte() {
			binary.LittleEndian.PutUint64(record[24:], 8*sizes[i]-uint64(count*u.typ.DType.Bits()))
		}
	}
	return file, nil
}

// fill makes the elements of an array.
func (u weightUse) fill(data []byte, source rand.Source) {
	switch d := u.typ.DType; {
	case u.role.kind == maskRole:
		fillMask(data, u.role.bits, u.role.set)
	case u.role.kind == zeroPointRole:
		if d == tensor.UInt8 { // the middle of the range, so that weights are of both signs
			for i := range data {
				data[i] = 128
			}
		}
	case d.IsFloat():
		u.fillFloats(data, rand.New(source))
	case d.SubByte() || d.Bits() == 8: // codes, all of which mean something
		for i := range data {
			data[i] = byte(source.Uint64())
		}
	default: // indices or lengths, of which only small ones are always good
		for i := 0; i < len(data); i += d.Size() {
			data[i] = byte(source.Uint64() & 1)
		}
	}
}

// fillFloats draws floats in pieces: the array may be large.
func (u weightUse) fillFloats(data []byte, r *rand.Rand) {
	deviation := u.role.deviation(u.typ)
	vals := make([]float32, 0, 1<<16)
	for len(data) > 0 {
		vals = vals[:min(cap(vals), len(data)/u.typ.DType.Size())]
		for i := range vals {
			if u.role.kind == positiveRole {
				vals[i] = float32(deviation * (0.5 + r.Float64()))
			} else {
				vals[i] = float32(deviation * r.NormFloat64())
			}
		}
		data = data[copy(data, tensor.FromFloat32s(u.typ.DType, vals, len(vals)).Bytes()):]
	}
}

// fillMask sets so many of the first bits, evenly spread.
func fillMask(data []byte, bits, set int) {
	bits = min(bits, 8*len(data))
	for i := range min(set, bits) {
		at := int(uint64(i) * uint64(bits) / uint64(set))
		data[at/8] |= 1 << (at % 8)
	}
}
