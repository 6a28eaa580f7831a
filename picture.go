package espalier

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Resize says how a picture is brought to the size that a model takes.
type Resize uint8

// The ways to resize a picture.
const (
	NoResize Resize = iota // a picture of another size is an error
	Stretch                // to the size, whatever becomes of its proportions
	Fit                    // inside the size, centred, with black around it
	Crop                   // around the size, centred, what stands over cut off
)

// ParseResize finds a way to resize by name: stretch, fit or crop.
func ParseResize(name string) (Resize, error) {
	for i, n := range []string{"", "stretch", "fit", "crop"} {
		if n == name {
			return Resize(i), nil
		}
	}
	return 0, fmt.Errorf("unknown way to resize %q: expected stretch, fit or crop", name)
}

// ResizePicture brings a picture to a size, by bilinear interpolation that averages where it shrinks.
func ResizePicture(src image.Image, width, height int, how Resize) image.Image {
	img, err := resizePicture(context.Background(), src, width, height, how)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return img
}

// resizePicture is ResizePicture until a context ends.
func resizePicture(ctx context.Context, src image.Image, width, height int, how Resize) (image.Image, error) {
	b := src.Bounds()
	if b.Dx() == width && b.Dy() == height || b.Empty() || how == NoResize {
		return src, nil
	}
	dst := image.NewNRGBA64(image.Rect(0, 0, width, height))
	from, to := b, dst.Bounds()
	sx, sy := float64(width)/float64(b.Dx()), float64(height)/float64(b.Dy())
	switch how {
	case Fit:
		s := min(sx, sy)
		to = centred(to, s*float64(b.Dx()), s*float64(b.Dy()))
	case Crop:
		s := max(sx, sy)
		from = centred(b, float64(width)/s, float64(height)/s)
	}
	if err := blacken(ctx, dst); err != nil {
		return nil, err
	}
	return dst, scalePicture(ctx, dst, to, withoutAlpha(src), from)
}

// blacken makes a new picture black.
func blacken(ctx context.Context, p *image.NRGBA64) error {
	for row := p.Pix; len(row) > 0; row = row[p.Stride:] {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := 6; i < p.Stride; i += 8 {
			row[i], row[i+1] = 0xff, 0xff
		}
	}
	return nil
}

// resizeBytes is what resizing a picture takes at most: the result, every row of the source at the width of the result, and for
// a row and a column of the source their weights and their values.
func resizeBytes(src image.Image, width, height int) float64 {
	w, h := float64(src.Bounds().Dx()), float64(src.Bounds().Dy())
	return float64(width)*(8*float64(height)+32*h) + 40*w + 16*h
}

// withoutAlpha is a picture without its alpha. One that has none stays what it is: there are fast ways through the pixels
// of those that are frequent, and none through what is wrapped.
func withoutAlpha(src image.Image) image.Image {
	switch p := src.(type) {
	case *image.Gray, *image.YCbCr:
		return src
	case *image.RGBA:
		if p.Opaque() {
			return src
		}
	case *image.NRGBA:
		if p.Opaque() {
			return src
		}
	}
	return opaque{src}
}

// centred is a rectangle of the given size in the middle of another one.
func centred(in image.Rectangle, w, h float64) image.Rectangle {
	iw := min(max(1, int(math.Round(w))), in.Dx())
	ih := min(max(1, int(math.Round(h))), in.Dy())
	at := in.Min.Add(image.Pt((in.Dx()-iw)/2, (in.Dy()-ih)/2))
	return image.Rectangle{at, at.Add(image.Pt(iw, ih))}
}

// opaque drops the alpha of a picture: what is left is the colour as stored, not blended with anything.
type opaque struct{ image.Image }

func (o opaque) ColorModel() color.Model { return color.NRGBA64Model }

func (o opaque) At(x, y int) color.Color {
	switch c := o.Image.At(x, y).(type) {
	case color.NRGBA: // converted by its model, a transparent colour would be black
		return color.NRGBA64{uint16(c.R) * 0x101, uint16(c.G) * 0x101, uint16(c.B) * 0x101, 0xffff}
	case color.NRGBA64:
		return color.NRGBA64{c.R, c.G, c.B, 0xffff}
	default:
		n := color.NRGBA64Model.Convert(c).(color.NRGBA64)
		n.A = 0xffff
		return n
	}
}

// pictureTensor makes the array [1, C, H, W] that a program receives for a picture: values 0 to 255, as
// fp32. Grey is ITU-R BT.601 luma, as the image package has it.
func pictureTensor(ctx context.Context, img image.Image, space coreml.ColorSpace) (*tensor.Tensor, error) {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	plane := w * h
	vals := make([]float32, space.Channels()*plane)
	src := opaque{img}
	gray := grayPicture(img)
	for y := range h {
		for x := range w {
			i := y*w + x
			if i%pixelsBetween == 0 {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
			if space.Channels() == 1 {
				if gray {
					g := color.Gray16Model.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.Gray16)
					vals[i] = to255(uint32(g.Y), space)
					continue
				}
				c := src.At(b.Min.X+x, b.Min.Y+y).(color.NRGBA64)
				// The weights of image/color's Gray16Model, which rounds to nearest.
				luma := (19595*uint32(c.R) + 38470*uint32(c.G) + 7471*uint32(c.B) + 1<<15) >> 16
				vals[i] = to255(luma, space)
				continue
			}
			c := src.At(b.Min.X+x, b.Min.Y+y).(color.NRGBA64)
			red, blue := 0, 2
			if space == coreml.BGR {
				red, blue = 2, 0
			}
			vals[red*plane+i] = to255(uint32(c.R), space)
			vals[plane+i] = to255(uint32(c.G), space)
			vals[blue*plane+i] = to255(uint32(c.B), space)
		}
	}
	return tensor.Of(vals, 1, space.Channels(), h, w), nil
}

func grayPicture(img image.Image) bool {
	m := img.ColorModel()
	return m == color.GrayModel || m == color.Gray16Model
}

// to255 scales a 16-bit channel to 0…255: whole numbers, except for features that hold halves.
func to255(v uint32, space coreml.ColorSpace) float32 {
	f := float64(v) / 257
	if space != coreml.GrayscaleFloat16 {
		f = math.Round(f)
	}
	return float32(f)
}

// pixelTensor makes the array [1, C, H, W] that a program receives for an array of pixels: [H, W, 3] or
// [H, W, 4] RGB with the alpha dropped, or [H, W] grey, whatever the model's layout.
func pixelTensor(px *tensor.Tensor, space coreml.ColorSpace) (*tensor.Tensor, error) {
	shape := px.Shape()
	if px.DType() == tensor.String {
		return nil, fmt.Errorf("an array for a picture holds numbers, found %v", px)
	}
	rank := len(shape)
	if rank == 3 && shape[2] == 1 {
		rank = 2
	}
	switch {
	case space.Channels() == 3 && rank == 3 && (shape[2] == 3 || shape[2] == 4):
	case space.Channels() == 1 && rank == 2:
	default:
		want := "[height, width, 3] in RGB order"
		if space.Channels() == 1 {
			want = "[height, width]"
		}
		return nil, fmt.Errorf("an array for a picture has shape %s, found %v", want, tensor.ShapeOf(shape...))
	}
	h, w, stride := shape[0], shape[1], 1
	if rank == 3 {
		stride = shape[2]
	}
	in := px.Float32s()
	plane := h * w
	vals := make([]float32, space.Channels()*plane)
	for c := range space.Channels() {
		to := c
		if space == coreml.BGR {
			to = 2 - c
		}
		for i := range plane {
			vals[to*plane+i] = in[i*stride+c]
		}
	}
	return tensor.Of(vals, 1, space.Channels(), h, w), nil
}

// tensorPicture makes a picture of an image output [1, C, H, W]: clamped to 0…255 and rounded.
func tensorPicture(t *tensor.Tensor, space coreml.ColorSpace) (image.Image, error) {
	shape := t.Shape()
	for len(shape) > 3 && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) != 3 || shape[0] != space.Channels() || t.Len() == 0 {
		return nil, fmt.Errorf("cannot make a picture of %d planes of %v", space.Channels(), t)
	}
	h, w := shape[1], shape[2]
	vals := t.Float32s()
	at := func(c, i int) uint8 {
		v := float64(vals[c*h*w+i])
		if math.IsNaN(v) {
			return 0
		}
		return uint8(math.RoundToEven(min(max(v, 0), 255)))
	}
	if space.Channels() == 1 {
		img := image.NewGray(image.Rect(0, 0, w, h))
		for i := range h * w {
			img.Pix[i] = at(0, i)
		}
		return img, nil
	}
	red, blue := 0, 2
	if space == coreml.BGR {
		red, blue = 2, 0
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = at(red, i), at(1, i), at(blue, i), 0xff
	}
	return img, nil
}
