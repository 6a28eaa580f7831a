package build

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
)

// A Request is a job, and what is said about it.
type Request struct {
	Job   *compiler.Job
	Model string // where the model is, for who looks at the cache

	// Copy reads what is large into memory instead of mapping it.
	Copy bool

	// Note is told why the cache was not used, or nothing was kept; nil is not.
	Note func(error)
}

// Built is a compiled job.
type Built struct {
	Bundle  *bundle.Bundle
	Host    *mil.Program // the host program; nil if there is none, and if it is from the cache: the bundle has it as text
	Origins [][]Origins  // by function and segment
	Cached  bool         // nothing was compiled

	// Mapped are the files of the cache that the bundle has mapped, to be closed when it is not in use any more.
	Mapped []*osfile.Mapping
}

// Build makes the bundle of a job. The weight files of its programs must stay open as long as the bundle is in use.
func (c *Cache) Build(ctx context.Context, r Request) (*Built, error) {
	if c == nil {
		return compile(ctx, r.Job)
	}
	note := func(err error) {
		if r.Note != nil && err != nil {
			r.Note(fmt.Errorf("the cache %s: %w", c.dir, err))
		}
	}
	key, weights, err := c.keyOf(ctx, r.Job)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		built, failed := compile(ctx, r.Job)
		if failed == nil {
			note(err)
		}
		return built, failed
	}
	if built := c.load(key, weights, r.Copy); built != nil {
		return built, nil
	}
	unlock, err := c.lock(ctx, key)
	if ctx.Err() != nil {
		if err == nil {
			unlock()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		note(err)
		return compile(ctx, r.Job)
	}
	defer unlock()
	if built := c.load(key, weights, r.Copy); built != nil {
		return built, nil // somebody else has made it meanwhile
	}
	built, err := compile(ctx, r.Job)
	if err != nil {
		return nil, err
	}
	if again, _, err := c.keyOf(ctx, r.Job); err != nil || again != key {
		return built, nil // a file was written to: who asked finds that out for himself
	}
	note(c.keep(key, about(r), built, weights))
	return built, nil
}

// Find is Build of a job that is in the cache; nil if it is not, or if there is no cache.
func (c *Cache) Find(ctx context.Context, r Request) (*Built, error) {
	if c == nil {
		return nil, nil
	}
	key, weights, err := c.keyOf(ctx, r.Job)
	if err != nil {
		return nil, err
	}
	return c.load(key, weights, r.Copy), nil
}

func compile(ctx context.Context, job *compiler.Job) (*Built, error) {
	result, err := compiler.Compile(ctx, job)
	if err != nil {
		return nil, err
	}
	built := &Built{Bundle: result.Bundle, Host: result.Host}
	for _, f := range result.Functions {
		built.Origins = append(built.Origins, originsOf(f))
	}
	return built, nil
}

// originsOf are those of the segments of a function.
func originsOf(f *compiler.Function) []Origins {
	list := make([]Origins, len(f.Segments))
	for i, s := range f.Segments {
		if s == nil {
			for _, o := range f.Placement.Parts[i].Ops {
				list[i].Host = append(list[i].Host, o.Op.Name())
			}
			continue
		}
		for _, t := range s.Tasks {
			list[i].Tasks = append(list[i].Tasks, t.Layer.Origin)
		}
	}
	return list
}

// load makes a bundle of the entry of a key; nil if there is none, or it is damaged.
func (c *Cache) load(k Key, weights []weightFile, copied bool) *Built {
	data := c.get(k)
	if data == nil {
		return nil
	}
	e, err := parseEntry(data)
	if err != nil || e.Key != k.String() {
		return nil
	}
	b, mapped, err := e.bundle(c, weights, copied)
	if err != nil {
		return nil
	}
	c.touch(k)
	return &Built{Bundle: b, Origins: e.Origins, Cached: true, Mapped: mapped}
}

// keep writes an entry.
func (c *Cache) keep(k Key, about About, built *Built, weights []weightFile) error {
	var err error
	if about.Generator, err = c.version(); err != nil {
		return err
	}
	size := int64(0)
	for _, f := range built.Bundle.Manifest.Files {
		if f.Role != bundle.RoleWeights {
			size += f.Size
		}
	}
	if size > c.bound {
		return fmt.Errorf("%d bytes are more than it may have, %d", size, c.bound)
	}
	e, blobs, err := c.newEntry(k, about, built.Bundle, built.Origins, weights)
	if err != nil {
		return err
	}
	data, err := e.encode()
	if err != nil {
		return err
	}
	if err := c.put(k, data); err != nil || blobs == 0 {
		return err
	}
	return c.grew(blobs)
}

func about(r Request) About {
	a := About{Model: r.Model, Target: r.Job.Target.Name, Numerics: r.Job.Numerics}
	if len(r.Job.Functions) > 0 {
		e := &r.Job.Functions[0]
		if a.Function, a.Shapes = e.Features.Name, e.Shapes; e.Function != nil {
			a.Function = e.Function.Name
		}
	}
	return a
}
