package espalier_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// damageArrays damages an archive of arrays: the headers of its arrays, with the checksums made anew, or what the archive
// says of them.
func damageArrays(t testing.TB, r *rand.Rand) input {
	paths := keep("archives", func() []string {
		paths, err := filepath.Glob(filepath.Join(modelsDir, "*", "*.npz"))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		return paths
	})
	path := pick(r, paths)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := input{path, map[string][]byte{"arrays.npz": mutateBytes(r, data, nil)}}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(z.File) == 0 || r.IntN(8) == 0 {
		return in
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	victim := r.IntN(len(z.File))
	for i, f := range z.File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		header := zip.FileHeader{Name: f.Name, Method: pick(r, []uint16{zip.Store, zip.Deflate})}
		if i == victim && r.IntN(4) != 0 {
			content = mutateNPY(r, content)
		} else if i == victim { // the sizes lie
			header.Method, header.CRC32 = zip.Store, crc32.ChecksumIEEE(content)
			header.UncompressedSize64, header.CompressedSize64 = uint64(edge(r, int64(len(content)))), uint64(edge(r, int64(len(content))))
			if raw, err := w.CreateRaw(&header); err == nil {
				raw.Write(content)
			}
			continue
		}
		entry, err := w.CreateHeader(&header)
		if err != nil {
			t.Fatal(err)
		}
		entry.Write(content)
	}
	w.Close()
	in.files["arrays.npz"] = out.Bytes()
	return in
}

// mutateNPY damages an array: the words of its header, the length of the header, or how much follows.
func mutateNPY(r *rand.Rand, data []byte) []byte {
	if len(data) < 10 {
		return data
	}
	n := int(binary.LittleEndian.Uint16(data[8:]))
	if 10+n > len(data) {
		return data
	}
	text, body := data[10:10+n], data[10+n:]
	switch r.IntN(6) {
	case 0:
		body = body[:r.IntN(len(body)+1)]
	case 1:
		data = bytes.Clone(data)
		putEdge(r, data, 6+r.IntN(4), 1+r.IntN(2))
		return data
	case 2:
		text = bytes.Replace(text, []byte("'<"), pick(r, [][]byte{[]byte("'>"), []byte("'|"), []byte("'="), []byte("'O")}), 1)
	default:
		text = mutateTokens(r, text)
	}
	out := bytes.Clone(data[:8])
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return slices.Concat(out, text, body)
}

// damagePicture damages the chunks of a PNG picture, with their checksums made anew, or the segments of a JPEG picture.
func damagePicture(t testing.TB, r *rand.Rand) input {
	pictures := keep("pictures", pictureFiles)
	i := r.IntN(len(pictures))
	data := bytes.Clone(pictures[i])
	if data[0] == 0xff {
		if r.IntN(2) == 0 {
			return input{"JPEG", map[string][]byte{"picture.jpg": mutateBytes(r, data, nil)}}
		}
		for at := 2; at+4 < len(data) && data[at] == 0xff; at += 2 + int(binary.BigEndian.Uint16(data[at+2:])) {
			if r.IntN(4) == 0 {
				putEdge(r, data, at+1+r.IntN(16), 1+r.IntN(2))
				break
			}
		}
		return input{"JPEG", map[string][]byte{"picture.jpg": data}}
	}
	chunks := readChunks(data)
	for range 1 + r.IntN(2) {
		k, l := r.IntN(len(chunks)), r.IntN(len(chunks))
		switch r.IntN(5) {
		case 0:
			chunks = slices.Delete(chunks, k, k+1)
			if len(chunks) == 0 {
				return input{"PNG", map[string][]byte{"picture.png": data[:8]}}
			}
		case 1:
			chunks = slices.Insert(chunks, k, chunks[l])
		case 2:
			chunks[k], chunks[l] = chunks[l], chunks[k]
		default:
			if chunks[k] = bytes.Clone(chunks[k]); len(chunks[k]) > 4 {
				putEdge(r, chunks[k], 4+r.IntN(len(chunks[k])-4), 1<<r.IntN(3))
			}
		}
	}
	out := bytes.Clone(data[:8])
	for _, c := range chunks {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c)-4))
		out = append(out, c...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(c))
	}
	return input{"PNG", map[string][]byte{"picture.png": out}}
}

// readChunks lists the chunks of a PNG picture: type and content.
func readChunks(data []byte) (chunks [][]byte) {
	for data = data[8:]; len(data) >= 12; {
		n := int(binary.BigEndian.Uint32(data))
		chunks = append(chunks, data[4:8+n])
		data = data[12+n:]
	}
	return chunks
}

// pictureFiles are pictures of every kind that the formats have, one with an orientation.
func pictureFiles() [][]byte {
	bounds := image.Rect(0, 0, 19, 13)
	kinds := []image.Image{
		image.NewNRGBA(bounds), image.NewNRGBA64(bounds), image.NewGray(bounds), image.NewGray16(bounds),
		image.NewPaletted(bounds, color.Palette{color.White, color.Black, color.Transparent}), image.NewRGBA(bounds),
	}
	// A segment with a TIFF block whose one entry is an orientation.
	exif := []byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
	var files [][]byte
	for _, kind := range kinds {
		var b bytes.Buffer
		if err := png.Encode(&b, kind); err == nil {
			files = append(files, b.Bytes())
		}
		var j bytes.Buffer
		if err := jpeg.Encode(&j, kind, nil); err == nil {
			files = append(files, slices.Concat(j.Bytes()[:2], exif, j.Bytes()[2:]))
		}
	}
	return files
}
