package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// standard is how a command line calls standard input where a file is read, and standard output where one is written.
const standard = "-"

// standardName is how messages and reports call standard input.
const standardName = "standard input"

// A standardInput is what comes in place of a file. Models are mapped, so one of them becomes a file that goes with the process.
type standardInput struct {
	taken  bool
	folder string // with the file; "" if there is none
}

// take is standard input, which can be had once.
func (c *invocation) take() (io.Reader, error) {
	if c.input.taken {
		return nil, usagef("standard input is one file, and %q asks for it twice", standard)
	}
	c.input.taken = true
	return stdinReader{c}, nil
}

// stdinReader does not keep an interrupted user waiting for input that does not come.
type stdinReader struct{ call *invocation }

func (r stdinReader) Read(p []byte) (int, error) {
	buffer, n := make([]byte, len(p)), 0 // what is left behind must not write into memory of others
	err := await(r.call, func() (err error) {
		n, err = r.call.stdin.Read(buffer)
		return err
	})
	if r.call.Err() != nil {
		return 0, r.call.Err()
	}
	return copy(p, buffer[:n]), err
}

// open opens a file that a command reads from its beginning to its end.
func (c *invocation) open(path string) (io.ReadCloser, error) {
	if path != standard {
		return os.Open(path)
	}
	r, err := c.take()
	return io.NopCloser(r), err
}

// file is the path of a file that a command reads anywhere: its own, or that of a file with what standard input has.
func (c *invocation) file(path string) (string, error) {
	c.bar.set(0, 1, "opening "+shown(path))
	if path != standard {
		return path, nil
	}
	r, err := c.take()
	if err != nil {
		return "", err
	}
	if c.input.folder, err = os.MkdirTemp("", "espalier-"); err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(c.input.folder, "stdin"))
	if err != nil {
		return "", err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, r, make([]byte, 1<<20))
	return f.Name(), errors.Join(err, f.Close())
}

// remove takes the file away again.
func (s *standardInput) remove() {
	if s.folder != "" {
		os.RemoveAll(s.folder)
	}
}

// rename calls the file in a message what it stands for.
func (s *standardInput) rename(text string) string {
	if s.folder == "" {
		return text
	}
	text = strings.ReplaceAll(text, filepath.Join(s.folder, "stdin"), standardName)
	return strings.ReplaceAll(text, s.folder+string(filepath.Separator), "") // what a text says to lie beside it
}

// shown is how reports call a file that a command reads.
func shown(path string) string {
	if path == standard {
		return standardName
	}
	return path
}

// binaryOutput is standard output for what is no text, which a terminal would not survive.
func (c *invocation) binaryOutput() (io.Writer, error) {
	w := c.stdout
	if b, ok := w.(beforeText); ok {
		w = b.Writer
	}
	if terminalOf(w) != nil {
		return nil, errors.New("standard output is a terminal, and what goes there is no text: send it to a file or a pipe")
	}
	return c.stdout, nil
}
