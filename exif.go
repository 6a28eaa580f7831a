package espalier

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // DecodePicture reads JPEG
	_ "image/png"  // and PNG
	"io"

	"github.com/espalier-ane/espalier/tensor"
)

// DecodePicture reads a PNG or JPEG picture and turns it the way its EXIF orientation says. One that does not fit in memory
// is a LimitError: a few bytes can be a picture of any size.
func DecodePicture(r io.Reader) (image.Image, error) { return Limits{}.DecodePicture(r) }

// DecodePicture is DecodePicture within the limits.
func (l Limits) DecodePicture(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if c.Width <= 0 || c.Height <= 0 {
		return nil, fmt.Errorf("a picture of %d × %d pixels is empty", c.Width, c.Height)
	}
	// Neither format packs more than some thousand pixels into a byte: a size beyond that is a lie.
	if pixels, ok := tensor.Count([]int{c.Width, c.Height}); !ok || pixels > 1<<20+len(data)<<12 {
		return nil, fmt.Errorf("a picture of %d × %d pixels cannot be in %d bytes", c.Width, c.Height, len(data))
	}
	orientation := exifOrientation(data)
	what := fmt.Sprintf("a picture of %d × %d pixels", c.Width, c.Height)
	if err := l.room(what, float64(c.Width)*float64(c.Height)*decodedBytes(c.ColorModel, orientation)); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return orient(img, orientation), nil
}

// decodedBytes is what a pixel takes while a picture is read, and turned if it must be.
func decodedBytes(m color.Model, orientation int) float64 {
	n := 8.0
	switch m {
	case color.GrayModel:
		n = 1
	case color.Gray16Model:
		n = 2
	case color.YCbCrModel:
		n = 3
	case color.RGBAModel, color.NRGBAModel, color.CMYKModel:
		n = 4
	}
	if _, ok := m.(color.Palette); ok {
		n = 1
	}
	if orientation != 1 {
		n += 8
	}
	return n
}

// exifOrientation finds the orientation tag of a JPEG or PNG file: 1 to 8, 1 if there is none.
func exifOrientation(file []byte) int {
	var tiff []byte
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xd8")):
		tiff = jpegEXIF(file[2:])
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		tiff = pngEXIF(file[8:])
	}
	return tiffOrientation(tiff)
}

// jpegEXIF walks the markers before the scan: FF code, length u16 (itself included), payload.
func jpegEXIF(b []byte) []byte {
	for len(b) >= 4 && b[0] == 0xff && b[1] != 0xda {
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < 2 || n+2 > len(b) {
			return nil
		}
		if tiff, ok := bytes.CutPrefix(b[4:n+2], []byte("Exif\x00\x00")); b[1] == 0xe1 && ok {
			return tiff
		}
		b = b[n+2:]
	}
	return nil
}

// pngEXIF walks the chunks: length u32, type, payload, checksum.
func pngEXIF(b []byte) []byte {
	for len(b) >= 12 {
		n := binary.BigEndian.Uint32(b)
		if uint64(n)+12 > uint64(len(b)) {
			return nil
		}
		if string(b[4:8]) == "eXIf" {
			return b[8 : 8+n]
		}
		b = b[12+n:]
	}
	return nil
}

// tiffOrientation reads tag 0x0112 of the first directory.
func tiffOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return 1
	}
	entries := int(order.Uint16(b[at:]))
	for i := range entries {
		e := at + 2 + uint64(i)*12
		if e+12 > uint64(len(b)) {
			return 1
		}
		if order.Uint16(b[e:]) == 0x0112 {
			if v := int(order.Uint16(b[e+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}

// orient undoes an EXIF orientation. The picture's pixel (x, y) comes from the stored (sx, sy):
//
//	1 x,y   2 mirrored   3 turned by 180°   4 mirrored top to bottom
//	5 transposed   6 turned left   7 transposed the other way   8 turned right
func orient(src image.Image, orientation int) image.Image {
	if orientation == 1 {
		return src
	}
	b := src.Bounds()
	in := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(in, in.Bounds(), opaque{src}, b.Min, draw.Src)
	w, h := b.Dx(), b.Dy()
	if orientation >= 5 {
		w, h = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			sx, sy := x, y
			switch orientation {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, w-1-x
			case 7:
				sx, sy = h-1-y, w-1-x
			case 8:
				sx, sy = h-1-y, x
			}
			copy(out.Pix[out.PixOffset(x, y):][:4], in.Pix[in.PixOffset(sx, sy):][:4])
		}
	}
	return out
}
