package espalier

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// corners is a 3×2 picture with a different colour in each corner.
func corners() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	img.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	img.SetNRGBA(2, 0, color.NRGBA{0, 255, 0, 255})
	img.SetNRGBA(0, 1, color.NRGBA{0, 0, 255, 255})
	img.SetNRGBA(2, 1, color.NRGBA{255, 255, 255, 255})
	return img
}

// cornerNames says which corner colours a picture has: top left, top right, bottom left, bottom right.
func cornerNames(img image.Image) string {
	b := img.Bounds()
	name := func(x, y int) byte {
		r, g, bl, _ := img.At(x, y).RGBA()
		switch {
		case r > 0x8000 && g > 0x8000:
			return 'W'
		case r > 0x8000:
			return 'R'
		case g > 0x8000:
			return 'G'
		case bl > 0x8000:
			return 'B'
		}
		return '.'
	}
	return string([]byte{name(b.Min.X, b.Min.Y), name(b.Max.X-1, b.Min.Y), name(b.Min.X, b.Max.Y-1), name(b.Max.X-1, b.Max.Y-1)}) +
		fmt.Sprintf(" %dx%d", b.Dx(), b.Dy())
}

// exifBlock is a TIFF block with nothing but an orientation.
func exifBlock(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 1)
	b = order.AppendUint16(b, 0x0112)
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, orientation)
	b = order.AppendUint16(b, 0)
	return order.AppendUint32(b, 0)
}

func pngWithEXIF(t testing.TB, img image.Image, tiff []byte) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	const afterIHDR = 8 + 12 + 13
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(tiff)))
	chunk = append(chunk, "eXIf"...)
	chunk = append(chunk, tiff...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return slices.Concat(file[:afterIHDR], chunk, file[afterIHDR:])
}

func jpegWithEXIF(t testing.TB, img image.Image, tiff []byte) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	payload := append([]byte("Exif\x00\x00"), tiff...)
	marker := append([]byte{0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(payload)+2))...)
	return slices.Concat(b.Bytes()[:2], marker, payload, b.Bytes()[2:])
}

// What the eight orientations mean, from the EXIF standard: where the stored first row and first column are.
func TestOrientationIsApplied(t *testing.T) {
	want := []string{1: "RGBW 3x2", 2: "GRWB 3x2", 3: "WBGR 3x2", 4: "BWRG 3x2", 5: "RBGW 2x3", 6: "BRWG 2x3", 7: "WGBR 2x3", 8: "GWRB 2x3"}
	for o := uint16(1); o <= 8; o++ {
		tiff := exifBlock(binary.LittleEndian, o)
		if o%2 == 0 {
			tiff = exifBlock(binary.BigEndian, o)
		}
		img, err := DecodePicture(bytes.NewReader(pngWithEXIF(t, corners(), tiff)))
		if err != nil {
			t.Fatal(err)
		}
		if got := cornerNames(img); got != want[o] {
			t.Errorf("orientation %d gives %s, expected %s", o, got, want[o])
		}
	}
}

func TestOrientationOfJPEG(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 32, 16)) // blocks of 16: JPEG blurs colours inside them
	for y := range 16 {
		for x := range 32 {
			c := color.NRGBA{255, 0, 0, 255}
			if x >= 16 {
				c = color.NRGBA{0, 0, 255, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	got, err := DecodePicture(bytes.NewReader(jpegWithEXIF(t, img, exifBlock(binary.BigEndian, 6))))
	if err != nil {
		t.Fatal(err)
	}
	if n := cornerNames(got); n != "RRBB 16x32" {
		t.Errorf("orientation 6 gives %s", n)
	}
}

func TestPictureTensor(t *testing.T) {
	img := image.NewNRGBA(image.Rect(5, 5, 7, 6)) // bounds need not start at 0
	img.SetNRGBA(5, 5, color.NRGBA{10, 20, 30, 255})
	img.SetNRGBA(6, 5, color.NRGBA{200, 100, 50, 0}) // alpha is dropped, not blended
	gray16 := image.NewGray16(image.Rect(0, 0, 1, 1))
	gray16.SetGray16(0, 0, color.Gray16{Y: 0x1234})
	gray := image.NewGray(image.Rect(0, 0, 1, 1))
	gray.SetGray(0, 0, color.Gray{Y: 77})
	for _, tc := range []struct {
		name  string
		img   image.Image
		space coreml.ColorSpace
		want  []float32
	}{
		{"RGB planes", img, coreml.RGB, []float32{10, 200, 20, 100, 30, 50}},
		{"BGR planes", img, coreml.BGR, []float32{30, 50, 20, 100, 10, 200}},
		{"luma", img, coreml.Grayscale, []float32{18, 124}}, // 0.299 R + 0.587 G + 0.114 B
		{"grey to RGB", gray, coreml.RGB, []float32{77, 77, 77}},
		{"grey stays", gray, coreml.Grayscale, []float32{77}},
		{"16-bit grey keeps its fraction", gray16, coreml.GrayscaleFloat16, []float32{float32(0x1234) / 257}},
	} {
		x, err := pictureTensor(t.Context(), tc.img, tc.space)
		if err != nil {
			t.Fatal(err)
		}
		got := x.Float32s()
		for i := range tc.want {
			if math.Abs(float64(got[i]-tc.want[i])) > 1e-4 {
				t.Errorf("%s: %v, expected %v", tc.name, got, tc.want)
				break
			}
		}
	}
}

func TestPixelTensor(t *testing.T) {
	rgb := tensor.Of([]uint8{1, 2, 3, 4, 5, 6}, 1, 2, 3)
	for _, tc := range []struct {
		name  string
		px    *tensor.Tensor
		space coreml.ColorSpace
		want  []float32 // nil: an error
	}{
		{"RGB", rgb, coreml.RGB, []float32{1, 4, 2, 5, 3, 6}},
		{"BGR", rgb, coreml.BGR, []float32{3, 6, 2, 5, 1, 4}},
		{"alpha dropped", tensor.Of([]uint8{1, 2, 3, 9}, 1, 1, 4), coreml.RGB, []float32{1, 2, 3}},
		{"grey", tensor.Of([]uint8{1, 2}, 1, 2), coreml.Grayscale, []float32{1, 2}},
		{"grey with an axis", tensor.Of([]uint8{1, 2}, 1, 2, 1), coreml.Grayscale, []float32{1, 2}},
		{"grey for RGB", tensor.Of([]uint8{1, 2}, 1, 2), coreml.RGB, nil},
		{"RGB for grey", rgb, coreml.Grayscale, nil},
		{"a program's tensor", tensor.New(tensor.Float32, 1, 3, 1, 2), coreml.RGB, nil},
	} {
		got, err := pixelTensor(tc.px, tc.space)
		if tc.want == nil {
			if err == nil {
				t.Errorf("%s: no error", tc.name)
			}
			continue
		}
		if err != nil || !slices.Equal(got.Float32s(), tc.want) {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
}

func TestTensorPictureClampsAndRounds(t *testing.T) {
	x := tensor.Of([]float32{-5, 300, 1.5, float32(math.NaN()), 128.4, 0.4}, 1, 3, 1, 2)
	img, err := tensorPicture(x, coreml.BGR)
	if err != nil {
		t.Fatal(err)
	}
	if c := img.At(0, 0).(color.NRGBA); c != (color.NRGBA{128, 2, 0, 255}) {
		t.Errorf("the first pixel is %v", c)
	}
	if c := img.At(1, 0).(color.NRGBA); c != (color.NRGBA{0, 0, 255, 255}) {
		t.Errorf("the second pixel is %v", c)
	}
	if _, err := tensorPicture(x, coreml.Grayscale); err == nil {
		t.Error("three planes made a grey picture")
	}
}

func TestResize(t *testing.T) {
	// Left half red, right half blue, twice as wide as high.
	src := image.NewNRGBA(image.Rect(0, 0, 40, 20))
	for y := range 20 {
		for x := range 40 {
			c := color.NRGBA{255, 0, 0, 255}
			if x >= 20 {
				c = color.NRGBA{0, 0, 255, 255}
			}
			src.SetNRGBA(x, y, c)
		}
	}
	for _, tc := range []struct {
		how  Resize
		want string
	}{
		{Stretch, "RBRB 10x10"},
		{Fit, ".... 10x10"}, // black above and below
		{Crop, "RBRB 10x10"},
	} {
		if got := cornerNames(ResizePicture(src, 10, 10, tc.how)); got != tc.want {
			t.Errorf("resize %d gives %s, expected %s", tc.how, got, tc.want)
		}
	}
	// Crop takes the middle: of a picture with green edges nothing green is left.
	for y := range 20 {
		for x := range 9 {
			src.SetNRGBA(x, y, color.NRGBA{0, 255, 0, 255})
			src.SetNRGBA(39-x, y, color.NRGBA{0, 255, 0, 255})
		}
	}
	if got := cornerNames(ResizePicture(src, 10, 10, Crop)); got != "RBRB 10x10" {
		t.Errorf("crop leaves %s", got)
	}
	if got := cornerNames(ResizePicture(src, 10, 10, Stretch)); got != "GGGG 10x10" {
		t.Errorf("stretch leaves %s", got)
	}
}

func FuzzDecodePicture(f *testing.F) {
	f.Add(pngWithEXIF(f, corners(), exifBlock(binary.LittleEndian, 5)))
	f.Add(jpegWithEXIF(f, corners(), exifBlock(binary.BigEndian, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<20 {
			t.Skip("large pictures are slow, not interesting")
		}
		img, err := DecodePicture(bytes.NewReader(data))
		if err == nil && img.Bounds().Empty() {
			t.Fatal("an empty picture is no picture")
		}
	})
}

// A description may ask for pictures of any size.
func TestResizeBeyondMemory(t *testing.T) {
	f := &features{resize: Fit}
	typ := &coreml.ImageType{Width: 1 << 40, Height: 1 << 40, ColorSpace: coreml.RGB}
	if _, err := f.pictureInput(t.Context(), typ, corners()); err == nil {
		t.Error("a picture of 2^80 pixels was made")
	}
}
