package aneclient

import (
	"errors"
	"slices"
	"sync"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A Mapper makes the surfaces of requests visible to the engine before they are evaluated: _ANEProgramIOSurfacesMapper. A client
// has 128 slots for surfaces, as ANEMemoryMappingParamsStruct has.
type Mapper struct {
	program *Program

	mu     sync.Mutex
	mapped map[*Request][]*driver.Surface
}

// Mapper is that of the loaded model, nil if it is not loaded: -mapper.
func (m *Model) Mapper() *Mapper {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program != nil && m.mapper == nil {
		m.mapper = newMapper(m.program)
	}
	return m.mapper
}

func newMapper(p *Program) *Mapper {
	return &Mapper{program: p, mapped: map[*Request][]*driver.Surface{}}
}

// MapperWithController is the mapper of the program that a controller has: +mapperWithController:.
func MapperWithController(d *DeviceController) *Mapper { return newMapper(d.program) }

// Map maps the surfaces of a request: -mapIOSurfacesWithModel:request:cacheInference:error:. With cacheInference, the request is
// also checked once for all: as long as it is mapped, evaluations take it as it is now, and what is changed in it later does not
// count.
func (p *Mapper) Map(r *Request, cacheInference bool) error {
	q, err := p.program.validate(r)
	if err != nil {
		return ErrMap.because(err)
	}
	var list []*driver.Surface
	for _, o := range slices.Concat(r.Inputs, r.Outputs) {
		list = append(list, o.Surface.surface)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mapped[r] != nil {
		return ErrMap.saying("the request is mapped")
	}
	if err := p.program.client.mapAll(list); err != nil {
		return ErrMap.because(err)
	}
	p.mapped[r] = list
	if cacheInference {
		r.cached = &cachedRequest{program: p.program, procedure: q, request: r.driverRequest(q), surfaces: list}
	}
	return nil
}

// Unmap takes Map back: -unmapIOSurfacesWithModel:request:error:.
func (p *Mapper) Unmap(r *Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unmap(r)
}

// unmapAll unmaps all requests.
func (p *Mapper) unmapAll() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.mapped {
		err = errors.Join(err, p.unmap(r))
	}
	return err
}

// unmap takes Map back. The lock is held.
func (p *Mapper) unmap(r *Request) error {
	list := p.mapped[r]
	if list == nil {
		return ErrMap.saying("the request is not mapped")
	}
	delete(p.mapped, r)
	r.cached = nil
	var err error
	for _, s := range list {
		err = errors.Join(err, p.program.client.unmapSurface(s))
	}
	return ErrMap.because(err)
}

// Validate reports what is wrong with a request: -validateRequest:model:.
func (p *Mapper) Validate(r *Request) error {
	_, err := p.program.validate(r)
	return err
}
