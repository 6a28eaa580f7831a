package check

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
)

// headLen is how much of a file tells whether it is a report.
const headLen = 4096

// What reports begin with, by form.
const (
	markdownMark  = "<!-- espalier check -->"
	htmlMark      = `<meta name="generator" content="espalier check">`
	jsonMark      = "espalier check"
	sarifToolName = "espalier"
)

var (
	textHead  = regexp.MustCompile(`^[^\n]+, function [^\n]+: \d+ (?:operation|layer)s?[^\n]*\n  \S+( or \S+)*  `)
	jsonHead  = regexp.MustCompile(`^\{\s*"report":\s*"` + jsonMark + `"`)
	sarifHead = regexp.MustCompile(`^\{\s*"\$schema":\s*"[^"]*sarif[^"]*",\s*"version":\s*"2\.1\.0",\s*"runs":\s*\[\s*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"` + sarifToolName + `"`)
)

// IsReportFile reports whether a file is a report, in any of the forms.
func IsReportFile(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, headLen)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return isReport(head[:n]), nil
}

// isReport reports whether a file that begins with these bytes is a report. An empty file is none.
func isReport(head []byte) bool {
	switch {
	case bytes.HasPrefix(head, []byte(markdownMark)), jsonHead.Match(head), sarifHead.Match(head), textHead.Match(head):
		return true
	case bytes.HasPrefix(head, []byte("<!DOCTYPE html>")):
		return bytes.Contains(head, []byte(htmlMark))
	}
	return false
}
