package espalier

import (
	"context"
	"image"
	"image/color"
	"math"
)

// scalePicture brings a part of a picture to a part of another one: by bilinear interpolation where it grows, and where it
// shrinks by the same tent, as wide as what a pixel of the result covers. It asks its context at every row, and within rows
// that are long: a picture may have any size. The source is without alpha.
//
//	row of the source ── across ──> row of the result's width ─┐
//	row of the source ── across ──> row of the result's width ─┼─ down ──> row of the result
//	row of the source ── across ──> row of the result's width ─┘
//
// A row of the source is scaled across once, and kept for as long as rows of the result need it.
func scalePicture(ctx context.Context, dst *image.NRGBA64, to image.Rectangle, src image.Image, from image.Rectangle) error {
	across, err := tents(ctx, to.Dx(), from.Dx())
	if err != nil {
		return err
	}
	down, err := tents(ctx, to.Dy(), from.Dy())
	if err != nil {
		return err
	}
	s := scaler{ctx: ctx, src: src, from: from, across: across, channels: 3}
	if _, ok := src.(*image.Gray); ok {
		s.channels = 1
	}
	s.pixels = make([]float64, s.channels*from.Dx())
	most := 0
	for _, d := range down {
		most = max(most, len(d.weights))
	}
	kept := make([][]float64, most) // row y of the source is kept[y%most]
	next := 0                       // row of the source to be scaled across
	sums := make([]float64, s.channels*to.Dx())
	for y, d := range down {
		clear(sums)
		for i, weight := range d.weights {
			row := d.first + i
			for next = max(next, d.first); next <= row; next++ {
				if kept[next%most] == nil {
					kept[next%most] = make([]float64, len(sums))
				}
				if err := s.row(kept[next%most], next); err != nil {
					return err
				}
			}
			for j, v := range kept[row%most] {
				sums[j] += float64(v * weight)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		at := dst.PixOffset(to.Min.X, to.Min.Y+y)
		for x := range to.Dx() {
			pixel := dst.Pix[at+8*x:][:8]
			for c := range 3 {
				v := sixteen(sums[s.channels*x+min(c, s.channels-1)] * d.scale)
				pixel[2*c], pixel[2*c+1] = uint8(v>>8), uint8(v)
			}
			pixel[6], pixel[7] = 0xff, 0xff
		}
	}
	return nil
}

// A tent says which pixels of a source make one of the result along an axis.
type tent struct {
	first   int
	weights []float64
	scale   float64 // one over the sum of the weights
}

// tents has those of n pixels of the result, from so many of the source.
//
//	weight 1        /\
//	               /  \        the middle is that of the pixel of the result
//	       0 _____/    \_____  half as wide as a pixel of the result, one of the source at least
func tents(ctx context.Context, n, from int) ([]tent, error) {
	step := float64(from) / float64(n)
	half := max(step, 1)
	slope := 1.0
	if step > 1 {
		slope = 1 / step
	}
	all := make([]tent, n)
	for x := range all {
		middle := float64((float64(x)+0.5)*step) - 0.5
		first, end := max(0, int(math.Floor(middle-half))), min(from, int(math.Ceil(middle+half)))
		t := tent{first: first, weights: make([]float64, 0, end-first)}
		sum := 0.0
		for i := first; i < end; i++ {
			if i%pixelsBetween == 0 {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
			weight := 1 - math.Abs((middle-float64(i))*slope)
			switch {
			case weight > 0:
				sum += weight
				t.weights = append(t.weights, weight)
			case len(t.weights) == 0:
				t.first = i + 1
			}
		}
		t.scale = 1 / sum
		all[x] = t
	}
	return all, nil
}

// A scaler scales rows of a picture across.
type scaler struct {
	ctx      context.Context
	src      image.Image // withoutAlpha
	from     image.Rectangle
	across   []tent
	channels int
	pixels   []float64 // of a row, a channel beside the other, 0 to 0xffff
}

// pixelsBetween is how many pixels may pass before a context is asked: of those that are slowest to read, a few milliseconds.
const pixelsBetween = 1 << 15

// row scales a row of the source across, to values from 0 to 1.
func (s *scaler) row(to []float64, y int) error {
	for x := 0; x < s.from.Dx(); x += pixelsBetween {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		s.read(y, x, min(x+pixelsBetween, s.from.Dx()))
	}
	passed := 0
	for x, t := range s.across {
		scale := t.scale / 0xffff
		for c := range s.channels {
			sum, at := 0.0, s.channels*t.first+c
			for _, weight := range t.weights {
				sum += float64(s.pixels[at] * weight)
				at += s.channels
			}
			to[s.channels*x+c] = sum * scale
		}
		if passed += len(t.weights); passed > pixelsBetween {
			passed = 0
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads pixels x to end of a row. There are fast ways through the pictures that are frequent.
func (s *scaler) read(y, x, end int) {
	to := s.pixels[s.channels*x : s.channels*end]
	x, y, n := s.from.Min.X+x, s.from.Min.Y+y, end-x
	switch p := s.src.(type) {
	case *image.Gray:
		for i, v := range p.Pix[p.PixOffset(x, y):][:n] {
			to[i] = float64(uint32(v) * 0x101)
		}
	case *image.RGBA:
		readRGBX(to, p.Pix[p.PixOffset(x, y):][:4*n])
	case *image.NRGBA:
		readRGBX(to, p.Pix[p.PixOffset(x, y):][:4*n])
	case *image.YCbCr:
		for i := range n {
			r, g, b, _ := p.YCbCrAt(x+i, y).RGBA()
			to[3*i], to[3*i+1], to[3*i+2] = float64(r), float64(g), float64(b)
		}
	default: // an opaque one
		for i := range n {
			c := p.At(x+i, y).(color.NRGBA64)
			to[3*i], to[3*i+1], to[3*i+2] = float64(c.R), float64(c.G), float64(c.B)
		}
	}
}

func readRGBX(to []float64, pixels []uint8) {
	for i := range len(pixels) / 4 {
		for c := range 3 {
			to[3*i+c] = float64(uint32(pixels[4*i+c]) * 0x101)
		}
	}
}

// sixteen rounds a value from 0 to 1 to 16 bits.
func sixteen(v float64) uint16 { return uint16(min(max(float64(0xffff*v)+0.5, 0), 0xffff)) }
