package aneclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

// A ModelState is what has become of a model. The research has seen these three.
type ModelState int

// The states.
const (
	StateNew    ModelState = 1 // as it is made; compiled or not
	StateLoaded ModelState = 3
	StateFailed ModelState = 5 // it could not be compiled or loaded; another attempt may follow
)

// A Model is what can be loaded and evaluated: _ANEInMemoryModel, of a descriptor, and _ANEModel, of files. There each has what
// the other lacks, which is why neither could be chained: the one has no symbols, the other no program. Here they are one. It is
// safe for concurrent use.
type Model struct {
	client     *Client
	descriptor *ModelDescriptor // nil: of files
	path       string           // where its files are, or would be saved
	key        string
	uuid       [16]byte

	mu        sync.Mutex
	state     ModelState
	object    *object  // nil: not compiled
	program   *Program // nil: not loaded
	owned     bool     // the program was loaded by this model
	statsMask uint32
	mapper    *Mapper
}

// InMemoryModel makes a model of a descriptor: +inMemoryModelWithDescriptor:.
func (c *Client) InMemoryModel(d *ModelDescriptor) *Model {
	m := c.newModel(filepath.Join(os.TempDir(), d.identifier), d.identifier)
	m.descriptor, m.statsMask = d, d.options.StatsMask
	return m
}

// ModelAtURL makes a model of a folder with model files, or of one model file: +modelAtURL:key:. The key names it, as the identifier names one
// in memory. Nothing is read before it is compiled or loaded.
func (c *Client) ModelAtURL(path, key string) (*Model, error) {
	if key == "" {
		return nil, ErrInvalidModel.saying("%s: a model needs a key", path)
	}
	return c.newModel(path, key), nil
}

func (c *Client) newModel(path, key string) *Model {
	m := &Model{client: c, path: path, key: key, state: StateNew}
	rand.Read(m.uuid[:])
	m.uuid[6], m.uuid[8] = m.uuid[6]&0x0f|0x40, m.uuid[8]&0x3f|0x80
	return m
}

// HexStringIdentifier names the model: -hexStringIdentifier, or the key.
func (m *Model) HexStringIdentifier() string { return m.key }

// UUID tells the model from every other, even of the same files: -getUUID.
func (m *Model) UUID() string {
	u := m.uuid
	return fmt.Sprintf("%X-%X-%X-%X-%X", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// LocalModelPath is where the files of the model are, or would be saved: -localModelPath.
func (m *Model) LocalModelPath() string { return m.path }

// State is what has become of it: -state.
func (m *Model) State() ModelState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Program is the loaded program, nil if there is none: -program.
func (m *Model) Program() *Program {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.program
}

// ProgramHandle is the handle of the loaded program, 0 if there is none: -programHandle.
func (m *Model) ProgramHandle() uint64 {
	if p := m.Program(); p != nil {
		return p.Handle()
	}
	return 0
}

// SetProgram makes the program of another model that of this one, which is loaded then: -setProgram:, -setProgramHandle:.
// Unloading this model does not unload the program.
func (m *Model) SetProgram(p *Program) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case p == nil || p.client != m.client:
		return ErrBadArgument.saying("the program is none of this client")
	case m.program != nil && m.owned:
		return ErrBadArgument.saying("the model is loaded: unload it first")
	}
	m.program, m.owned, m.state = p, false, StateLoaded
	return nil
}

// Compile compiles the model: -compileWithQoS:options:error:, -compileModel:options:qos:error:. The quality of service is held to
// be one; the compiler works at once.
func (m *Model) Compile(ctx context.Context, qos int, o Options) error {
	if err := checkQoS(qos); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program != nil {
		return ErrBadArgument.saying("the model is loaded: unload it first")
	}
	made, err := m.compile(ctx, m.merge(o))
	return m.take(made, err)
}

// take keeps what was compiled. The lock is held.
func (m *Model) take(made *object, err error) error {
	if err != nil {
		m.state = StateFailed
		return err
	}
	if m.object != nil {
		err = m.object.free()
	}
	m.object, m.state = made, StateNew
	return err
}

// merge is the options of the descriptor with those of a call before them.
func (m *Model) merge(o Options) Options {
	if m.descriptor == nil {
		return o
	}
	d := m.descriptor.options
	if o.Numerics == "" {
		o.Numerics = d.Numerics
	}
	o.Strict = o.Strict || d.Strict
	o.DebugMask |= d.DebugMask
	o.StatsMask |= d.StatsMask
	return o
}

// The files of a saved model, as the originals have them; data is the compiled one.
const (
	textFile     = "model.mil"
	listFile     = "net.plist"
	espressoFile = "model.espresso.net"
	dataFolder   = "data"
)

// compile makes the object of whatever the model is.
func (m *Model) compile(ctx context.Context, o Options) (*object, error) {
	target := m.client.target
	if m.descriptor != nil {
		return compileProgram(ctx, target, m.descriptor.program, nil, o)
	}
	info, err := os.Stat(m.path)
	if err != nil {
		return nil, ErrInvalidModel.because(err)
	}
	for _, name := range []string{textFile, listFile, espressoFile} {
		path := filepath.Join(m.path, name)
		if _, err := os.Stat(path); !info.IsDir() || err != nil {
			continue
		}
		if name == textFile {
			return compileModel(ctx, target, path, o)
		}
		return compileGraphs(ctx, target, path, o)
	}
	if graphfile.IsFile(m.path) {
		return compileGraphs(ctx, target, m.path, o)
	}
	made, err := compileModel(ctx, target, m.path, o)
	if err != nil && info.IsDir() && errors.Is(err, ErrInvalidModel) {
		return nil, ErrEspresso.saying("Cannot load network '%s', nor %s nor %s beside it: %w", filepath.Join(m.path, espressoFile), textFile, listFile, err)
	}
	return made, err
}

// CompiledModelExists reports whether the model is compiled, here or in its files: -compiledModelExists, -compiledModelExistsFor:.
func (m *Model) CompiledModelExists() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.object != nil || m.compiledPath() != ""
}

// compiledPath is where the model is on disk, compiled for the client's engine; "" if it is not.
func (m *Model) compiledPath() string {
	for _, path := range []string{filepath.Join(m.path, dataFolder), m.path} {
		if !bundle.IsBundle(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(path, "manifest.json"))
		if err != nil {
			continue
		}
		if manifest, err := bundle.ParseManifest(text); err == nil && manifest.Target == m.client.target.Name {
			return path
		}
	}
	return ""
}

// CompilerLog is what the compiler said of its passes, if Options.DebugMask asked for it.
func (m *Model) CompilerLog() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.object == nil {
		return nil
	}
	return m.object.log
}

// Load gives the model to the engine: -loadWithQoS:options:error:, -loadModel:options:qos:error:. What is not compiled is compiled
// first, or, if its files have the compiled model, taken from there.
func (m *Model) Load(ctx context.Context, qos int, o Options) error {
	if err := checkQoS(qos); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program != nil {
		return ErrBadArgument.saying("the model is loaded")
	}
	o = m.merge(o)
	if m.object == nil {
		var made *object
		var err error
		if path := m.compiledPath(); path != "" && m.descriptor == nil {
			made, err = openObject(ctx, path)
		} else {
			made, err = m.compile(ctx, o)
		}
		if err := m.take(made, err); err != nil {
			return err
		}
	}
	program, err := m.client.load(ctx, m.object, qos)
	if err != nil {
		m.state = StateFailed
		return err
	}
	if o.StatsMask != 0 {
		m.statsMask = o.StatsMask
	}
	m.program, m.owned, m.state = program, true, StateLoaded
	return nil
}

// Unload takes the model from the engine: -unloadWithQoS:error:. Requests under way, and chains of it, refuse it.
func (m *Model) Unload(qos int) error {
	if err := checkQoS(qos); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program == nil {
		return ErrBadArgument.saying("the model is not loaded")
	}
	if m.owned {
		if err := m.program.unload(); err != nil {
			return ErrInvalidModel.because(err)
		}
	}
	if m.mapper != nil {
		if err := m.mapper.unmapAll(); err != nil {
			return err
		}
	}
	m.program, m.mapper, m.state = nil, nil, StateNew
	return nil
}

// Purge forgets what was compiled, here and in files that SaveModelFiles has written: -purgeCompiledModel.
func (m *Model) Purge() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program != nil && m.owned {
		return ErrBadArgument.saying("the model is loaded: unload it first")
	}
	var err error
	if m.object != nil {
		err = m.object.free()
		m.object = nil
	}
	if m.descriptor != nil {
		err = errors.Join(err, os.RemoveAll(m.path))
	}
	return err
}

// loaded is the program of a model that must be loaded.
func (m *Model) loaded() (*Program, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.program == nil {
		return nil, ErrInvalidModel.saying("the model is not loaded")
	}
	return m.program, nil
}

func checkQoS(qos int) error {
	if _, ok := driver.PriorityOf(qos); !ok {
		return ErrBadArgument.saying("quality of service %d: want 0 to %d", qos, driver.MaxQoS)
	}
	return nil
}

// The qualities of service that have names. Others up to MaxQoS are taken as the default.
const (
	QoSRealTime        = driver.RealTime
	QoSBackground      = driver.Background
	QoSUtility         = driver.Utility
	QoSDefault         = driver.Default
	QoSUserInitiated   = driver.UserInitiated
	QoSUserInteractive = driver.UserInteractive
	MaxQoS             = driver.MaxQoS
)

// PriorityForQoS is the priority of the firmware, 0 to 7, that a quality of service leads to: _ANEQoSMapper.
func PriorityForQoS(qos int) (int, error) {
	p, ok := driver.PriorityOf(qos)
	if !ok {
		return 0, checkQoS(qos)
	}
	return p, nil
}

// QoSForPriority is the quality of service that a priority stands for: _ANEQoSMapper.
func QoSForPriority(priority int) int { return driver.QoSOf(priority) }
