package aneclient

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/driver"
)

// The domains of errors, as the originals have them.
const (
	Domain         = "com.apple.appleneuralengine"
	EspressoDomain = "com.apple.appleneuralengine.espresso"
	CompilerDomain = "com.apple.appleneuralengine.compiler"
)

// An Error is what the originals call an NSError: a domain, a code in it, a description. What it comes from can be unwrapped: an error of the
// compiler, or a status of the kernel, whose number it has.
type Error struct {
	Domain string
	Code   int
	Msg    string // what was called, and what failed
	Status uint32 // of the kernel, 0 if the call did not get there
	Err    error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("Error Domain=%s Code=%d %q", e.Domain, e.Code, e.Msg)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether another error has the same domain and code: errors.Is(err, aneclient.ErrChainingPrepare).
func (e *Error) Is(other error) bool {
	o, ok := other.(*Error)
	return ok && o.Domain == e.Domain && o.Code == e.Code
}

// The errors that are known of the originals, with who has seen them. Others that could be told apart there have no number that
// anybody has published, and are one of these here.
var (
	ErrCompile         = &Error{Domain: CompilerDomain, Code: 1, Msg: "_ANECompiler : ANECCompile() FAILED"}                                           // logs that users publish
	ErrEspresso        = &Error{Domain: EspressoDomain, Code: -1, Msg: "_ANEEspressoIRTranslator : error Cannot load network"}                         // research, experiment M
	ErrInference       = &Error{Domain: Domain, Code: 8, Msg: "ANEProgramProcessRequestDirect() Failed: Program Inference error"}                      // logs that users publish
	ErrInvalidModel    = &Error{Domain: Domain, Code: 10, Msg: "invalid model"}                                                                        // likewise
	ErrMap             = &Error{Domain: Domain, Code: 13, Msg: "mapIOSurfacesWithModel:request:cacheInference:error:: Program IOSurfaces map failure"} // likewise
	ErrChainingPrepare = &Error{Domain: Domain, Code: 15, Msg: "ANEProgramChainingPrepare() Failed: Program chaining prepare error"}                   // research, experiments L and P
	ErrBadArgument     = &Error{Domain: Domain, Code: 26, Msg: "Bad argument error"}                                                                   // logs that users publish
)

// because is one of the errors above with a reason.
func (e *Error) because(err error) error {
	if err == nil {
		return nil
	}
	made := *e
	made.Err, made.Status = err, uint32(driver.CodeOf(err))
	return &made
}

// saying is because with a reason in words.
func (e *Error) saying(format string, args ...any) error {
	made := *e
	made.Err = fmt.Errorf(format, args...)
	return &made
}
