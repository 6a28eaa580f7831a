package hwx

import (
	"os"
	"path/filepath"
	"testing"
)

// compact is the container without the padding between its parts: a tenth of
// its bytes, and the fuzzer finds more in them.
func compact(t testing.TB, data []byte) []byte {
	t.Helper()
	f := mustRead(t, data)
	end := uint64(0)
	regions, err := f.Regions()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range regions {
		if r.Kind != RegionSection && r.Kind != RegionPadding {
			end = uint64(r.Offset + r.Size)
		}
	}
	for _, seg := range f.Segments() {
		if seg.FileSize == 0 {
			continue
		}
		seg.FileOffset = end
		for _, s := range seg.Sections {
			if len(s.Data) > 0x1000 {
				s.Data = s.Data[:0x40]
				s.Size = 0x40
			}
			s.Offset = uint32(end)
			end += s.Size
		}
		seg.FileSize = end - seg.FileOffset
	}
	f.Size = int64(end)
	small, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return small
}

// Arbitrary bytes are refused with a place, or read so that they can be written
// again, and no question about them does harm.
func FuzzFile(f *testing.F) {
	for _, spec := range []Spec{reluSpec(16), addSpec(), identitySpec(f), identity2026(f), ownSpec(false), ownSpec(true)} {
		_, data := mustBuild(f, spec)
		f.Add(compact(f, data))
	}
	f.Add(compact(f, buildSeveral(f, severalSpecs(f)...)))
	// Apple's files too, where they are at hand.
	paths, _ := filepath.Glob(filepath.Join("..", "..", "shared", "hwx", "*.hwx"))
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(compact(f, data))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { probe(t, data) })
}
