package bundle

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
)

// New makes a bundle in memory, checked as Open checks one: of the manifest, of
// which New fills in Format, Version and Files, of the descriptor, and of the
// containers and files of weights by their paths. They are not copied; the bundle
// keeps them.
func New(m Manifest, p *e5.Program, containers map[string]*hwx.File, host string, weights map[string][]byte) (*Bundle, error) {
	m.Format, m.Version, m.Files = formatName, formatVersion, nil
	program, err := p.Encode()
	if err != nil {
		return nil, badFile(ProgramPath, err)
	}
	b := newBundle(&m)
	add := func(path string, size int64) {
		m.Files = append(m.Files, File{Path: path, Role: roleOf(path), Size: size})
	}
	add(ProgramPath, int64(len(program)))
	b.files[ProgramPath] = program
	if host != "" {
		add(HostPath, int64(len(host)))
		b.files[HostPath] = []byte(host)
	}
	for _, path := range slices.Sorted(maps.Keys(containers)) {
		if roleOf(path) != RoleContainer {
			return nil, wrong("files", "a container cannot be at %q", path)
		}
		add(path, containers[path].Size)
		b.containers[path] = containers[path]
	}
	for _, path := range slices.Sorted(maps.Keys(weights)) {
		if roleOf(path) != RoleWeights {
			return nil, wrong("files", "weights cannot be at %q", path)
		}
		add(path, int64(len(weights[path])))
		b.files[path] = weights[path]
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	if err := m.check(false); err != nil {
		return nil, err
	}
	if b.Program, err = e5.Decode(program); err != nil {
		return nil, badFile(ProgramPath, err)
	}
	return b, b.agree()
}

// Content returns what Write makes the same bundle of. It is valid as long as the
// bundle is open.
func (b *Bundle) Content() *Content {
	c := &Content{Manifest: *b.Manifest, Program: b.files[ProgramPath], Host: b.Host()}
	for _, path := range slices.Sorted(maps.Keys(b.containers)) {
		if data, ok := b.files[path]; ok {
			c.Containers = append(c.Containers, Data(path, data))
			continue
		}
		file := b.containers[path]
		c.Containers = append(c.Containers, Blob{path, func(w io.Writer) error {
			_, err := file.WriteTo(w)
			return err
		}})
	}
	for _, f := range b.Manifest.Files {
		if f.Role == RoleWeights {
			c.Weights = append(c.Weights, Data(f.Path, b.files[f.Path]))
		}
	}
	return c
}
