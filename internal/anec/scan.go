package anec

import (
	"fmt"
	"strconv"
	"strings"
)

// A TextError is about a place in the text of graphs.
type TextError struct {
	Line, Column int // from 1; a column is a byte of the line
	Err          error
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}
func (e *TextError) Unwrap() error { return e.Err }

// A scanner reads text from its beginning to its end. A line is a statement, unless it ends within brackets. "//" begins a comment,
// and so does "#" where a line begins.
type scanner struct {
	text   string
	at     int // of the next byte
	mark   int // where the last thing began that was read: what an error is about
	nested int // how many brackets are open: in them a line may end
}

// errorAt is an error about a place.
func (s *scanner) errorAt(at int, err error) error {
	before := s.text[:min(at, len(s.text))]
	return &TextError{1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n'), err}
}

// skip goes to the next thing of the statement.
func (s *scanner) skip() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' && s.nested > 0:
			s.at++
		case strings.HasPrefix(s.text[s.at:], "//") || c == '#' && s.lineBegins():
			s.skipLine()
		default:
			return
		}
	}
}

// lineBegins reports whether there is nothing before in the line.
func (s *scanner) lineBegins() bool {
	line := s.text[strings.LastIndexByte(s.text[:s.at], '\n')+1 : s.at]
	return strings.Trim(line, " \t\r") == ""
}

func (s *scanner) skipLine() {
	if n := strings.IndexByte(s.text[s.at:], '\n'); n >= 0 {
		s.at += n
	} else {
		s.at = len(s.text)
	}
}

// next goes to the next statement; false if there is none.
func (s *scanner) next() bool {
	for {
		s.skip()
		if s.at == len(s.text) {
			return false
		}
		if s.text[s.at] != '\n' {
			return true
		}
		s.at++
	}
}

// atEnd reports whether the statement has nothing more.
func (s *scanner) atEnd() bool {
	s.skip()
	s.mark = s.at
	return s.at == len(s.text) || s.text[s.at] == '\n'
}

// end complains of what is left of the statement.
func (s *scanner) end() error {
	if s.atEnd() {
		return nil
	}
	rest, _, _ := strings.Cut(s.text[s.at:], "\n")
	return fmt.Errorf("%q is left over", strings.TrimSpace(rest))
}

// sees reports whether a mark is next.
func (s *scanner) sees(mark string) bool {
	s.skip()
	return strings.HasPrefix(s.text[s.at:], mark)
}

// accept reads a mark if it is next.
func (s *scanner) accept(mark string) bool {
	if !s.sees(mark) {
		return false
	}
	s.mark = s.at
	s.at += len(mark)
	return true
}

func (s *scanner) expect(mark string) error {
	if !s.accept(mark) {
		s.mark = s.at
		return fmt.Errorf("want %q, found %q", mark, s.peek())
	}
	return nil
}

// acceptWord reads a word if it is next.
func (s *scanner) acceptWord(word string) bool {
	if s.peek() != word {
		return false
	}
	return s.accept(word)
}

// peek is the next word, or the next character.
func (s *scanner) peek() string {
	s.skip()
	n := s.plain()
	if n == 0 && s.at < len(s.text) && s.text[s.at] != '\n' {
		n = 1
	}
	return s.text[s.at : s.at+n]
}

// plain counts the characters of a plain name that is next.
func (s *scanner) plain() int {
	n := s.at
	for n < len(s.text) && plainRune(rune(s.text[n])) {
		n++
	}
	return n - s.at
}

// name reads a name, quoted or plain.
func (s *scanner) name() (string, error) {
	s.skip()
	s.mark = s.at
	if s.sees(`"`) {
		q, err := strconv.QuotedPrefix(s.text[s.at:])
		if err != nil {
			line, _, _ := strings.Cut(s.text[s.at:], "\n")
			return "", fmt.Errorf("a name without its closing quote: %s", line)
		}
		s.at += len(q)
		return strconv.Unquote(q)
	}
	n := s.plain()
	if n == 0 {
		return "", fmt.Errorf("want a name, found %q", s.peek())
	}
	s.at += n
	return s.text[s.at-n : s.at], nil
}

// raw reads up to one of the characters of stops, or the end of the statement, but for those in brackets and quotes.
func (s *scanner) raw(stops string) string {
	s.skip()
	s.mark = s.at
	for depth := 0; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		if c == '"' {
			if q, err := strconv.QuotedPrefix(s.text[s.at:]); err == nil {
				s.at += len(q) - 1
				continue
			}
		}
		isClosing := c == ')' || c == ']'
		if c == '\n' && s.nested == 0 || depth == 0 && (isClosing || strings.IndexByte(stops, c) >= 0 || strings.HasPrefix(s.text[s.at:], " //")) {
			break
		}
		if isClosing {
			depth--
		} else if c == '(' || c == '[' {
			depth++
		}
	}
	return strings.TrimSpace(s.text[s.mark:s.at])
}
