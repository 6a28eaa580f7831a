// Package layers explains the native layers: the kinds that the engine has, with their fields and operands, what their
// validators reject and with which words, from which chip on they run, and what operations of MIL become them.
//
//	k, err := layers.Find("SDPA")
//	fmt.Println(k.Authored.Chips)
//	k.WriteText(os.Stdout)
//
// The rows of the kinds and their validators are internal/anec's; this package asks them. Two things that only tests can find
// out it has in files that these tests write: gates.txt, operations.txt.
package layers

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

// The types of this file are the schema of layers --json: docs/json.md explains the fields.

// A Table has a row for each kind.
type Table struct {
	Kinds []Summary `json:"kinds"`
}

// A Summary is a row of the table.
type Summary struct {
	Name       string    `json:"name"`
	Standing   string    `json:"standing"`
	Type       string    `json:"type,omitempty"`
	Class      int       `json:"class"`
	Descriptor string    `json:"descriptor,omitempty"`
	Bottoms    []Operand `json:"bottoms"`
	Tops       []string  `json:"tops"`
	Converted  *Chip     `json:"converted,omitempty"`
	Authored   *Chip     `json:"authored,omitempty"`
}

// An Operand is what a layer reads.
type Operand struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"`
	Repeats  bool   `json:"repeats,omitempty"`
	Constant bool   `json:"constant,omitempty"`
	Weight   bool   `json:"weight,omitempty"`
	Indices  bool   `json:"indices,omitempty"`
}

// A Chip is the first that has something.
type Chip struct {
	Target string `json:"target"`
	Family string `json:"family"`
	Chips  string `json:"chips"`
}

// A Kind is all that is known of a kind.
type Kind struct {
	Summary
	Fields      []Field     `json:"fields"`
	Example     string      `json:"example"`
	NoAuthored  string      `json:"no_authored,omitempty"`
	Virtual     Encoding    `json:"virtual"`
	H13         Encoding    `json:"h13"`
	Validator   string      `json:"validator,omitempty"`
	NoValidator string      `json:"no_validator,omitempty"`
	Gates       []Gate      `json:"gates"`
	Codegen     []Codegen   `json:"codegen"`
	Operations  []Operation `json:"operations"`
	Sources     []string    `json:"sources"`
	Inferred    string      `json:"inferred,omitempty"`
}

// A Field is a field of a kind.
type Field struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Tokens   []string `json:"tokens,omitempty"`
	Default  string   `json:"default,omitempty"`
	Key      string   `json:"key,omitempty"`
	Inferred bool     `json:"inferred,omitempty"`
}

// An Encoding is what becomes of the example on a target.
type Encoding struct {
	Tasks  int    `json:"tasks"`
	Own    bool   `json:"own_encoding"`
	Reason string `json:"reason,omitempty"`
}

// A Gate is a string with which the validator rejects a layer.
type Gate struct {
	ID     diag.ID `json:"id"`
	Title  string  `json:"title"`
	Text   string  `json:"text"`
	Limits []Limit `json:"limits"`
	Helps  string  `json:"helps,omitempty"`
	Source string  `json:"source"`
}

// A Limit is what targets allow.
type Limit struct {
	Limit   string   `json:"limit"`
	Targets []string `json:"targets"`
}

// Codegen is what is known of the code that comes of layers which pass their validator.
type Codegen struct {
	ID      diag.ID `json:"id,omitempty"`
	Subject string  `json:"subject"`
	Route   string  `json:"route"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Outcome string  `json:"outcome"`
	Text    string  `json:"text"`
	Remedy  string  `json:"remedy,omitempty"`

	Known   string   `json:"known"`
	Seen    []string `json:"seen,omitempty"`
	Source  string   `json:"source"`
	Against string   `json:"against,omitempty"`

	isAbout func(*hal.Target) bool
}

// An Operation of MIL becomes layers of the kind, perhaps beside others.
type Operation struct {
	Name      string   `json:"name"`
	Layers    []string `json:"layers"`
	Converted *Chip    `json:"converted,omitempty"`
}

// All has the kinds in the order of docs/layers.md.
func All() *Table {
	var t Table
	for _, k := range anec.Kinds() {
		t.Kinds = append(t.Kinds, summarize(k))
	}
	return &t
}

// An UnknownError is about a kind that is not there.
type UnknownError struct {
	Name string
	Near []string // kinds that may be meant
}

func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no native layer %q; espalier layers lists them", e.Name)
	}
	return fmt.Sprintf("no native layer %q; did you mean %s?", e.Name, strings.Join(e.Near, ", "))
}

// Find explains the kind with a name: that in a netplist or that of the descriptor, in capitals or not. If there is none, the error is an
// *UnknownError.
func Find(name string) (*Kind, error) {
	for _, k := range anec.Kinds() {
		info := k.Info()
		if strings.EqualFold(info.Name, name) || info.Desc != "" && strings.EqualFold(info.Desc, name) {
			return explain(k), nil
		}
	}
	return nil, &UnknownError{name, near(name)}
}

// near are the kinds whose names have the word in them, or else are nearly the same.
func near(name string) (names []string) {
	const most, longest = 8, 64
	if name == "" || len(name) > longest {
		return nil
	}
	lower := strings.ToLower(name)
	has := func(known string) bool { return len(lower) > 2 && strings.Contains(known, lower) }
	like := func(known string) bool { return diag.Distance(lower, known) <= max(1, len(lower)/3) }
	for _, test := range []func(string) bool{has, like} {
		for _, k := range anec.Kinds() {
			if test(strings.ToLower(k.String())) {
				names = append(names, k.String())
			}
		}
		if names != nil {
			break
		}
	}
	return names[:min(len(names), most)]
}
