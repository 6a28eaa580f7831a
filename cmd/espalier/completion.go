package main

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/fit"
	"github.com/espalier-ane/espalier/hal"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish. The script goes to standard output; its first lines say where to put it."`
}

// completionScripts write the script of a shell.
var completionScripts = []struct {
	shell string
	write func(io.Writer, []completedCommand)
}{
	{"bash", writeBash},
	{"zsh", writeZsh},
	{"fish", writeFish},
}

func (c *completionCmd) Run(call *invocation) error {
	for _, s := range completionScripts {
		if s.shell == c.Shell {
			var b strings.Builder
			s.write(&b, completedCommands(newParser(io.Discard, io.Discard).Model.Node))
			_, err := io.WriteString(call.stdout, b.String())
			return err
		}
	}
	return usagef("completion %s: expected bash, zsh or fish", c.Shell)
}

// A completedCommand is what a shell should know of a command.
type completedCommand struct {
	name, help string
	flags      []completedFlag
	words      []string // what its argument may be; nil for files
}

// A completedFlag is what it should know of a flag.
type completedFlag struct {
	name, short, help string
	value             string   // what the value is called; "" for a flag that takes none
	words             []string // what the value may be; nil for files
}

// flagWords are the values of flags that take a word and no file, by name. What is a number or a name of the model's has none.
var flagWords = map[string]func() []string{
	"units": func() []string {
		return []string{string(espalier.AllUnits), string(espalier.EngineOnly), string(espalier.CPUOnly)}
	},
	"resize":  func() []string { return []string{"stretch", "fit", "crop"} },
	"weights": func() []string { return []string{"random"} },
	"require": func() []string { return []string{"ane"} },
	"format": func() (names []string) {
		for _, f := range checkFormats {
			names = append(names, f.name)
		}
		return names
	},
	"emit": func() []string {
		names := slices.Concat(emitForms, []string{emitAll, emitPicture})
		for _, p := range espalier.Passes() {
			names = append(names, p.Name)
		}
		return names
	},
	"beyond":    func() []string { return []string{fit.Hold.String(), fit.Line.String()} },
	"domain":    func() []string { return []string{} },
	"target":    chipNames,
	"numerics":  func() []string { return append(chipNames(), string(espalier.FP32)) },
	"function":  func() []string { return []string{} },
	"repeat":    func() []string { return []string{} },
	"tolerance": func() []string { return []string{} },
}

// chipNames are the targets and the chips that people know them by.
func chipNames() (names []string) {
	for _, t := range hal.Targets() {
		names = append(names, t.Name)
	}
	for _, a := range hal.Aliases() {
		if a.Kind == hal.MarketingName && !strings.Contains(a.Name, " ") {
			names = append(names, strings.ToLower(a.Name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func completedCommands(root *kong.Node) []completedCommand {
	var list []completedCommand
	var names []string
	for _, n := range root.Children {
		names = append(names, n.Name)
	}
	for _, n := range root.Children {
		c := completedCommand{name: n.Name, help: n.Help}
		for _, f := range slices.Concat(root.Flags, n.Flags) {
			c.flags = append(c.flags, newCompletedFlag(f))
		}
		switch n.Name {
		case "help":
			c.words = names
		case "completion":
			for _, s := range completionScripts {
				c.words = append(c.words, s.shell)
			}
		case "cache":
			c.words = []string{cacheList, cacheVerify, cacheClean}
		case "targets":
			c.words = chipNames()
		case "layers", "version", "fit":
			c.words = []string{}
		}
		list = append(list, c)
	}
	return list
}

func newCompletedFlag(f *kong.Flag) completedFlag {
	c := completedFlag{name: f.Name, help: firstSentence(f.Help)}
	if f.Short != 0 {
		c.short = string(f.Short)
	}
	if !f.IsBool() {
		c.value = f.PlaceHolder
		if words, ok := flagWords[f.Name]; ok {
			c.words = words()
		}
	}
	return c
}

// firstSentence is the beginning of a help text: a shell has one line for it.
func firstSentence(help string) string {
	for _, end := range []string{". ", ": ", "; "} {
		if i := strings.Index(help, end); i > 0 {
			help = help[:i]
		}
	}
	const widest = 72
	if len(help) > widest {
		help = help[:strings.LastIndexByte(help[:widest], ' ')] + " …"
	}
	return strings.TrimSuffix(help, ".")
}

// spellings are how a flag may be written: --target and -t.
func (f completedFlag) spellings() []string {
	if f.short == "" {
		return []string{"--" + f.name}
	}
	return []string{"--" + f.name, "-" + f.short}
}
