package e5rt

import (
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/internal/gate"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// A Buffer is memory in a layout, to be bound to ports and states: made for it, of
// the caller, or a file that is mapped.
//
//	p, err := op.Port("x")
//	b, err := e5rt.NewBuffer(p.EngineLayout())
//	err = p.Bind(b)
//
// One buffer may be bound to many ports, of several operations too: an output of one
// and an input of the next. Who runs them sees to their order.
type Buffer struct {
	layout   Layout
	memory   []byte
	readOnly bool
	release  func() error // what Close has to do; nil if nothing
	gate     gate.Gate    // of the runs that use it
}

// NewBuffer makes memory, all zero, that begins at a multiple of 64 bytes.
func NewBuffer(l Layout) (*Buffer, error) {
	if err := l.check(l.Bytes); err != nil {
		return nil, err
	}
	return &Buffer{layout: l, memory: alignedBytes(l.Bytes)}, nil
}

// WrapBuffer makes a buffer of memory of the caller, from its first byte on.
func WrapBuffer(l Layout, memory []byte) (*Buffer, error) {
	if err := l.check(len(memory)); err != nil {
		return nil, err
	}
	return &Buffer{layout: l, memory: memory[:l.Bytes:l.Bytes]}, nil
}

// MapBuffer makes a buffer of a file, from its first byte on. If it is not to be
// written to, it serves inputs alone, and the file must not change before Close. Else
// what runs write is written to the file; one that is not there, or is shorter, is
// filled up with zeros.
func MapBuffer(l Layout, path string, write bool) (*Buffer, error) {
	if err := l.check(l.Bytes); err != nil {
		return nil, err
	}
	var m *osfile.Mapping
	var err error
	if write {
		m, err = osfile.MapWritable(path, l.Bytes)
	} else {
		m, err = osfile.Map(path)
	}
	if err != nil {
		return nil, err
	}
	if n := len(m.Bytes()); n < l.Bytes {
		return nil, errors.Join(fmt.Errorf("%s: %d bytes, and %v takes %d", path, n, l, l.Bytes), m.Close())
	}
	return &Buffer{layout: l, memory: m.Bytes()[:l.Bytes:l.Bytes], readOnly: !write, release: m.Close}, nil
}

// check says what is wrong with a layout in so many bytes.
func (l *Layout) check(bytes int) error {
	n, ok := tensor.Count(l.Shape)
	size, whole := l.Type.ByteLen(n)
	switch {
	case !ok || !whole || l.Type == tensor.Invalid || l.Type == tensor.String || len(l.Strides) != len(l.Shape):
		return fmt.Errorf("no memory has elements of type %v, shape %v and strides %v", l.Type, l.Shape, l.Strides)
	case l.Bytes < size || l.Bytes > maxCallBytes:
		return fmt.Errorf("a buffer of %d bytes for %v%v, which has %d; want %d or less", l.Bytes, l.Type, tensor.ShapeOf(l.Shape...), size, int64(maxCallBytes))
	case bytes < l.Bytes:
		return fmt.Errorf("%d bytes of memory, and %v takes %d", bytes, *l, l.Bytes)
	}
	left := l.Bytes - l.Type.Size() // behind the first element
	for i, s := range l.Strides {
		if l.Type.Size() == 0 || n == 0 {
			break
		}
		if s < 0 || s%l.Type.Size() != 0 || l.Shape[i] > 1 && s > left/(l.Shape[i]-1) {
			return fmt.Errorf("strides %v of %v%v do not stay in %d bytes", l.Strides, l.Type, tensor.ShapeOf(l.Shape...), l.Bytes)
		}
		left -= s * (l.Shape[i] - 1)
	}
	return nil
}

// Layout returns how the elements lie.
func (b *Buffer) Layout() Layout { return b.layout }

// Size returns how many bytes it has.
func (b *Buffer) Size() int { return b.layout.Bytes }

// Bytes returns the memory, which is not to be used after Close. That of a file that
// is mapped to be read must not be written to.
func (b *Buffer) Bytes() ([]byte, error) {
	if b.gate.Closed() {
		return nil, errBufferClosed
	}
	return b.memory, nil
}

// Tensor returns the memory as an array, not to be used after Close.
func (b *Buffer) Tensor() (*tensor.Tensor, error) {
	memory, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	return b.layout.tensor(memory)
}

var errBufferClosed = fmt.Errorf("the buffer: %w", ErrClosed)

// Close waits for the runs that use the buffer, and unmaps a file. What is bound to it
// gives ErrClosed from then on, until it is bound to another. It waits as Library.Close does.
func (b *Buffer) Close() error {
	err := b.gate.Close(func() error {
		b.memory = nil
		if b.release == nil {
			return nil
		}
		return b.release()
	})
	if errors.Is(err, gate.ErrInside) {
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// A users is the buffers that an operation is bound to, with the place of a run in
// each.
type users []struct {
	*Buffer
	place int
}

// enter keeps all from being closed; leave lets go of them.
func (u users) enter(ctx context.Context) error {
	for i := range u {
		place, open := u[i].gate.Enter(ctx)
		if !open {
			u[:i].leave()
			return errBufferClosed
		}
		u[i].place = place
	}
	return nil
}

func (u users) leave() {
	for i := range u {
		u[i].gate.Leave(u[i].place)
	}
}
