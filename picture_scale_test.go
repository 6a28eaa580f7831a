package espalier

import (
	"context"
	"errors"
	"image"
	"image/color"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/draw"

	"github.com/espalier-ane/espalier/coreml"
)

// Scaling gives what the tent of x/image gives, for pictures of every kind, growing and shrinking, whole and in part.
func TestScaleIsBilinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []func(image.Rectangle) image.Image{
		func(b image.Rectangle) image.Image { return noise(r, image.NewGray(b)) },
		func(b image.Rectangle) image.Image { return noise(r, image.NewGray16(b)) },
		func(b image.Rectangle) image.Image { return noise(r, image.NewNRGBA(b)) },
		func(b image.Rectangle) image.Image { return noise(r, image.NewNRGBA64(b)) },
		func(b image.Rectangle) image.Image { return noise(r, image.NewCMYK(b)) },
		func(b image.Rectangle) image.Image { // without alpha
			p := noise(r, image.NewRGBA(b)).(*image.RGBA)
			for i := 3; i < len(p.Pix); i += 4 {
				p.Pix[i] = 0xff
			}
			return p
		},
		func(b image.Rectangle) image.Image {
			p := image.NewYCbCr(b, image.YCbCrSubsampleRatio420)
			for _, plane := range [][]uint8{p.Y, p.Cb, p.Cr} {
				for i := range plane {
					plane[i] = uint8(r.Uint32())
				}
			}
			return p
		},
	} {
		for range 12 {
			src := kind(image.Rect(-2, 3, -2+1+r.IntN(40), 3+1+r.IntN(40)))
			from := part(r, src.Bounds())
			size := image.Rect(0, 0, 1+r.IntN(50), 1+r.IntN(50))
			to := part(r, size)
			got, want := image.NewNRGBA64(size), image.NewNRGBA64(size)
			draw.BiLinear.Scale(want, to, withoutAlpha(src), from, draw.Src, nil)
			if err := scalePicture(t.Context(), got, to, withoutAlpha(src), from); err != nil {
				t.Fatal(err)
			}
			for i := range want.Pix {
				if got.Pix[i] != want.Pix[i] {
					t.Fatalf("%T %v to %v: byte %d is %d, want %d", src, from, to, i, got.Pix[i], want.Pix[i])
				}
			}
		}
	}
}

func part(r *rand.Rand, of image.Rectangle) image.Rectangle {
	w, h := 1+r.IntN(of.Dx()), 1+r.IntN(of.Dy())
	at := of.Min.Add(image.Pt(r.IntN(of.Dx()-w+1), r.IntN(of.Dy()-h+1)))
	return image.Rectangle{at, at.Add(image.Pt(w, h))}
}

func noise(r *rand.Rand, p draw.Image) image.Image {
	b := p.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			p.Set(x, y, color.NRGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32())})
		}
	}
	return p
}

// askedPicture ends a context when it is read for the first time, and counts what is read.
type askedPicture struct {
	image.Rectangle
	end  func()
	read int
}

func (p *askedPicture) Bounds() image.Rectangle { return p.Rectangle }
func (p *askedPicture) At(int, int) color.Color {
	p.end()
	p.read++
	return color.Black
}

// A context that ends while a picture is resized, or made an array, ends that: however long its rows are.
func TestPicturesAskTheirContext(t *testing.T) {
	for _, c := range []struct {
		picture image.Rectangle
		resize  Resize
	}{
		{image.Rect(0, 0, 1000, 1000), Stretch},
		{image.Rect(0, 0, 1000*1000, 1), Stretch},
		{image.Rect(0, 0, 1, 1000*1000), Fit},
		{image.Rect(0, 0, 1000, 1000), NoResize},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := &askedPicture{Rectangle: c.picture, end: cancel}
		typ := &coreml.ImageType{Width: 8, Height: 8, ColorSpace: coreml.RGB}
		if c.resize == NoResize {
			typ.Width, typ.Height = c.picture.Dx(), c.picture.Dy()
		}
		_, err := (&features{resize: c.resize}).pictureInput(ctx, typ, p)
		if !errors.Is(err, context.Canceled) || p.read > pixelsBetween {
			t.Errorf("%v: %v, after %d pixels", c.picture, err, p.read)
		}
	}
}
