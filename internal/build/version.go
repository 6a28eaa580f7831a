package build

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// modulePath is the module that this package is of.
const modulePath = "github.com/espalier-ane/espalier"

// compilerVersion says which compiler this is: of a released module its version and sum, of a clean checkout its revision, and
// else the digest of the executable. The processor's kind is part of it, since constants are folded in floating point.
func (c *Cache) compilerVersion() (string, error) {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = versionOf(info)
	}
	if version == "" {
		d, err := c.executableDigest()
		if err != nil {
			return "", fmt.Errorf("which compiler this is cannot be told: %w", err)
		}
		version = fmt.Sprintf("executable %x", d)
	}
	return version + " " + runtime.Version() + " " + runtime.GOARCH, nil
}

// versionOf is the version that a build names, "" if it names none that stands for the sources.
func versionOf(info *debug.BuildInfo) string {
	for _, m := range info.Deps {
		if m.Path == modulePath && m.Replace == nil && m.Sum != "" {
			return "module " + m.Version + " " + m.Sum
		}
	}
	if info.Main.Path != modulePath {
		return ""
	}
	revision, clean := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			clean = s.Value == "false"
		}
	}
	switch {
	case revision != "" && clean:
		return "revision " + revision
	case revision == "" && info.Main.Sum != "": // go install of a version
		return "module " + info.Main.Version + " " + info.Main.Sum
	}
	return ""
}

// executableDigest is that of the file that this process runs, which may have another name by now, or none.
func (c *Cache) executableDigest() (d [32]byte, err error) {
	path, err := os.Executable()
	if err != nil {
		return d, err
	}
	if runtime.GOOS == "linux" {
		path = "/proc/self/exe"
	}
	m, err := osfile.Map(path)
	if err != nil {
		return d, err
	}
	defer m.Close()
	defer osfile.Protect().Catch(&err)
	return c.mappedDigest(m)
}
