package mil

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// SyntaxError says where a MIL text is wrong and why.
type SyntaxError struct {
	File         string // as given to ParseText
	Line, Column int    // from 1; a column is a byte
	Msg          string // what was expected, and what was found
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// tokenKind is a punctuation mark's own byte, or one of the kinds below.
type tokenKind uint8

const (
	tokEOF      tokenKind = iota + 128
	tokName               // y_cast_fp16, tensor, true
	tokNumber             // 3, -1, 0x1.8p-3, -inf
	tokString             // "text", with its quotes
	tokArrow              // ->
	tokEllipsis           // ...
)

// token is a piece of the text: src[start:end].
type token struct {
	kind         tokenKind
	start, end   int
	line, column int
}

// scanner cuts a text into tokens. After an error it gives tokEOF for ever, so that its callers
// need not ask after every token.
type scanner struct {
	src       []byte
	pos       int
	line      int // of pos, from 1
	lineStart int // offset of the line's first byte
	file      string
	err       *SyntaxError
}

// failAt notes the first error; what follows from it is of no interest.
func (s *scanner) failAt(line, column int, format string, args ...any) {
	if s.err == nil {
		s.err = &SyntaxError{File: s.file, Line: line, Column: column, Msg: fmt.Sprintf(format, args...)}
	}
}

// scan returns the next token.
func (s *scanner) scan() token {
	s.skipSpace()
	t := token{kind: tokEOF, start: s.pos, end: s.pos, line: s.line, column: s.pos - s.lineStart + 1}
	if s.err != nil || s.pos == len(s.src) {
		return t
	}
	switch c := s.src[s.pos]; {
	case isMark[c]:
		t.kind = tokenKind(c)
		s.pos++
	case isNameStart(c):
		t.kind = tokName
		s.pos++
		for s.pos < len(s.src) && isNameByte(s.src[s.pos]) {
			s.pos++
		}
	case c == '"':
		t.kind = tokString
		s.skipString(t)
	case s.at("->"):
		t.kind = tokArrow
		s.pos += 2
	case s.at("..."):
		t.kind = tokEllipsis
		s.pos += 3
	case isDigit(c) || c == '-' || c == '+' || c == '.':
		t.kind = tokNumber
		s.skipNumber()
	default:
		r, _ := utf8.DecodeRune(s.src[s.pos:])
		s.failAt(t.line, t.column, "unexpected character %q", r)
		return t
	}
	if s.err != nil {
		t.kind = tokEOF
	}
	t.end = s.pos
	return t
}

// isMark has the punctuation marks that stand for themselves.
var isMark = [256]bool{'(': true, ')': true, '[': true, ']': true, '{': true, '}': true, '<': true, '>': true,
	',': true, ';': true, '=': true, '?': true}

func (s *scanner) at(text string) bool { return bytes.HasPrefix(s.src[s.pos:], []byte(text)) }

// skipSpace skips white space and comments. Files that compilers write have no comments; files that people
// write have those of C.
func (s *scanner) skipSpace() {
	for s.err == nil && s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\n':
			s.newline()
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c != '/':
			return
		case s.at("//"):
			for s.pos < len(s.src) && s.src[s.pos] != '\n' {
				s.pos++
			}
		case s.at("/*"):
			s.skipComment()
		default:
			return
		}
	}
}

func (s *scanner) skipComment() {
	line, column := s.line, s.pos-s.lineStart+1
	for s.pos += 2; s.pos < len(s.src); {
		switch {
		case s.at("*/"):
			s.pos += 2
			return
		case s.src[s.pos] == '\n':
			s.newline()
		default:
			s.pos++
		}
	}
	s.failAt(line, column, "comment is not closed: expected */, found the end of the text")
}

func (s *scanner) newline() {
	s.pos++
	s.line++
	s.lineStart = s.pos
}

// skipString skips a string with its quotes. Line breaks may stand in it: no writer is known to escape them
// for sure.
func (s *scanner) skipString(t token) {
	for s.pos++; s.pos < len(s.src); {
		switch s.src[s.pos] {
		case '"':
			s.pos++
			return
		case '\\':
			s.pos++
			if s.pos < len(s.src) && s.src[s.pos] != '\n' {
				s.pos++
			}
		case '\n':
			s.newline()
		default:
			s.pos++
		}
	}
	s.failAt(t.line, t.column, "string is not closed: expected \", found the end of the text")
}

// skipNumber skips what looks like a number; its value is read when its type is known.
func (s *scanner) skipNumber() {
	if c := s.src[s.pos]; c == '-' || c == '+' {
		s.pos++
	}
	hex := s.at("0x") || s.at("0X")
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		exponentSign := (c == '-' || c == '+') && isExponentMark(s.src[s.pos-1], hex)
		if !isDigit(c) && !isLetter(c) && c != '.' && !exponentSign {
			return
		}
		s.pos++
	}
}

func isExponentMark(c byte, hex bool) bool {
	return c|0x20 == 'p' || c|0x20 == 'e' && !hex
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isNameStart and isNameByte say which bytes a bare name has. Every name that coremltools writes has only
// letters, digits, _ and @; the others do not hurt. Names with further characters are written in quotes.
func isNameStart(c byte) bool { return isLetter(c) || c == '_' || c >= utf8.RuneSelf }
func isNameByte(c byte) bool {
	return isNameStart(c) || isDigit(c) || c == '@' || c == '.' || c == ':' || c == '$'
}

// isName reports whether a name can stand in a text without quotes.
func isName(s string) bool {
	if s == "" || !isNameStart(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// escapes are the single-character escapes of a string, as in C.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v', 'a': '\a',
	'"': '"', '\'': '\'', '\\': '\\', '/': '/', '?': '?'}

// unquote returns the text of a string token. Which escapes Apple's own reader knows is not documented; these
// are the ones of C and JSON.
func (s *scanner) unquote(t token) string {
	raw := s.src[t.start+1 : t.end-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++ // a backslash is never the last byte: it would have escaped the closing quote
		c = raw[i]
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		switch {
		case digits > 0:
			v, err := strconv.ParseUint(string(raw[i+1:min(len(raw), i+1+digits)]), 16, 32)
			if err != nil || len(raw)-i-1 < digits {
				s.failAt(t.line, t.column, "string has the escape \\%c without its %d hexadecimal digits", c, digits)
				return ""
			}
			i += digits
			if c == 'x' {
				out = append(out, byte(v))
				continue
			}
			r := rune(v)
			if low, ok := lowSurrogate(raw[i+1:]); ok && 0xd800 <= r && r < 0xdc00 {
				r = (r-0xd800)<<10 + low - 0xdc00 + 0x10000
				i += len(`\udc00`)
			}
			out = utf8.AppendRune(out, r)
		case escapes[c] != 0:
			out = append(out, escapes[c])
		default:
			s.failAt(t.line, t.column, "string has the unknown escape \\%c", c)
			return ""
		}
	}
	return string(out)
}

// lowSurrogate reads the second half of a character that JSON writes as two escapes.
func lowSurrogate(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(v), err == nil && 0xdc00 <= v && v < 0xe000
}

// quote writes a string such that unquote gives it back, byte for byte, in printable ASCII or valid UTF-8.
func quote(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r < ' ' || r == 0x7f || r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, s[i])
		default:
			out = append(out, s[i:i+n]...)
		}
		i += n
	}
	return append(out, '"')
}
