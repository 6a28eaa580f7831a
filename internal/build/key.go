package build

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A weightFile is a file that constants of a job are in. Its number among those of the job is that of its first use.
type weightFile struct {
	path  string // as the program or graph spells it
	data  []byte
	known identity
}

// identity is what a file is known by without reading it. That of a file within an archive is the archive's, and within is its
// name there. nil if a file is not known.
type identity func() (id osfile.Identity, within string, ok bool)

// keyOf computes the key of a job, and lists its weight files.
func (c *Cache) keyOf(ctx context.Context, job *compiler.Job) (Key, []weightFile, error) {
	version, err := c.version()
	if err != nil {
		return Key{}, nil, err
	}
	k := &keyMaker{hasher: newHasher("espalier bundle 1")}
	k.text(version)
	k.text(job.Target.Name)
	k.text(job.Numerics)
	k.flag(job.EngineOnly)
	k.flag(job.Variant)
	k.flag(job.Strict)
	k.flag(job.OneContainer)
	k.number(job.Seed)
	k.number(uint64(len(job.Mutable)))
	for _, name := range job.Mutable {
		k.text(name)
	}
	k.json(job.Pipeline)
	k.number(uint64(len(job.Functions)))
	for i := range job.Functions {
		k.entry(&job.Functions[i], job.Program)
	}
	if k.err != nil {
		return Key{}, nil, k.err
	}
	for _, f := range k.weights {
		d, err := c.weightDigest(ctx, f.known, f.data)
		if err != nil {
			return Key{}, nil, err
		}
		k.number(uint64(len(f.data)))
		k.bytes(d[:])
	}
	return k.sum(), k.weights, nil
}

// A keyMaker walks over all that the compiler sees of a job. What it does not look at must not change a byte of the bundle:
// the places in files, which errors name. TestKeySeesEveryField has the list of what there is.
type keyMaker struct {
	*hasher
	weights []weightFile
	values  map[*mil.Value]uint64
	err     error
}

func (k *keyMaker) json(v any) {
	data, err := json.Marshal(v)
	if err != nil && k.err == nil {
		k.err = err
	}
	k.bytes(data)
}

func (k *keyMaker) entry(e *compiler.Entry, shared *mil.Program) {
	k.json(e.Features)
	k.number(uint64(len(e.Shapes)))
	for _, name := range slices.Sorted(maps.Keys(e.Shapes)) {
		k.text(name)
		k.ints(e.Shapes[name])
	}
	k.flag(e.Graph != nil)
	if e.Graph != nil {
		k.graph(e)
		return
	}
	k.function(e.Function)
	program := e.Program
	if program == nil {
		program = shared
	}
	k.text(program.Version)
	k.attributes(program.Attributes)
	for _, f := range program.Functions {
		if f != e.Function {
			k.function(f)
		}
	}
}

func (k *keyMaker) ints(list []int) {
	k.number(uint64(len(list)))
	for _, n := range list {
		k.number(uint64(n))
	}
}

// function takes in a function. Values are numbered as they are defined: names alone might stand for several.
func (k *keyMaker) function(f *mil.Function) {
	k.values = map[*mil.Value]uint64{}
	k.text(f.Name)
	k.text(f.Opset)
	k.define(f.Inputs)
	k.attributes(f.Attributes)
	k.block(f.Body)
}

func (k *keyMaker) define(values []*mil.Value) {
	k.number(uint64(len(values)))
	for _, v := range values {
		k.values[v] = uint64(len(k.values) + 1)
		k.text(v.Name)
		k.typ(v.Type)
	}
}

func (k *keyMaker) use(v *mil.Value) {
	n := k.values[v]
	k.number(n)
	if n == 0 { // of another function, which no program that can be compiled has
		k.text(v.Name)
	}
}

func (k *keyMaker) block(b *mil.Block) {
	k.define(b.Inputs)
	k.attributes(b.Attributes)
	k.number(uint64(len(b.Operations)))
	for _, op := range b.Operations {
		k.text(op.Kind)
		k.number(uint64(len(op.Inputs)))
		for _, in := range op.Inputs {
			k.text(in.Param)
			k.number(uint64(len(in.Args)))
			for _, a := range in.Args {
				k.flag(a.Value != nil)
				if a.Value != nil {
					k.use(a.Value)
				} else {
					k.constant(a.Const)
				}
			}
		}
		k.define(op.Outputs)
		k.attributes(op.Attributes)
		k.number(uint64(len(op.Blocks)))
		for _, nested := range op.Blocks {
			k.block(nested)
		}
	}
	k.number(uint64(len(b.Outputs)))
	for _, v := range b.Outputs {
		k.use(v)
	}
}

func (k *keyMaker) attributes(list mil.Attributes) {
	k.number(uint64(len(list)))
	for _, a := range list {
		k.text(a.Name)
		k.constant(a.Value)
	}
}

func (k *keyMaker) typ(t mil.Type) {
	k.flag(t != nil)
	if t != nil {
		k.text(t.String())
	}
}

func (k *keyMaker) constant(c *mil.Constant) {
	k.flag(c != nil)
	if c == nil {
		return
	}
	k.typ(c.Type)
	if c.Mutable {
		k.text("mutable")
	}
	k.flag(c.Tensor != nil)
	if c.Tensor != nil {
		k.tensor(c.Tensor)
	}
	k.flag(c.File != nil)
	if c.File != nil {
		k.text(c.File.Path)
		k.number(c.File.Offset)
		k.number(k.weightFile(c.File))
	}
	k.number(uint64(len(c.Items)))
	for _, item := range c.Items {
		k.constant(item)
	}
	k.number(uint64(len(c.Entries)))
	for _, e := range c.Entries {
		k.constant(e.Key)
		k.constant(e.Value)
	}
}

func (k *keyMaker) tensor(t *tensor.Tensor) {
	k.text(t.DType().String())
	k.ints(t.Shape())
	if t.DType() != tensor.String {
		k.bytes(t.Bytes())
		return
	}
	for _, s := range t.Strings() {
		k.text(s)
	}
}

// weightFile is the number of a file from 1, 0 if the program came without.
func (k *keyMaker) weightFile(ref *mil.FileRef) uint64 {
	if ref.Files == nil || k.err != nil {
		return 0
	}
	data, err := ref.Files.Bytes(ref.Path)
	if err != nil {
		k.err = err
		return 0
	}
	f := weightFile{path: ref.Path, data: data}
	if known, ok := ref.Files.(identified); ok {
		f.known = func() (osfile.Identity, string, bool) { return known.Identity(ref.Path) }
	}
	return k.fileNumber(f)
}

// fileNumber is the number of a file among those of the job, from 1.
func (k *keyMaker) fileNumber(f weightFile) uint64 {
	i := slices.IndexFunc(k.weights, func(o weightFile) bool { return o.path == f.path && sameMemory(o.data, f.data) })
	if i < 0 {
		i = len(k.weights)
		k.weights = append(k.weights, f)
	}
	return uint64(i + 1)
}

// identified is what knows files without reading them.
type identified interface {
	Identity(path string) (id osfile.Identity, within string, ok bool)
}

func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
