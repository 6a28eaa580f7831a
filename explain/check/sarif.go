package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// The types of this file are the part of SARIF 2.1.0 that a report takes.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool       `json:"tool"`
	BaseIDs    map[string]any  `json:"originalUriBaseIds,omitempty"`
	ColumnKind string          `json:"columnKind"`
	Artifacts  []sarifArtifact `json:"artifacts"`
	Results    []sarifResult   `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      diag.ID      `json:"id"`
	Short   sarifText    `json:"shortDescription"`
	Help    sarifText    `json:"help"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifArtifact struct {
	Location sarifFile `json:"location"`
}

type sarifFile struct {
	URI    string `json:"uri"`
	BaseID string `json:"uriBaseId,omitempty"`
}

type sarifResult struct {
	RuleID       diag.ID           `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Properties   sarifProperties   `json:"properties"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	File   sarifFile   `json:"artifactLocation"`
	Region sarifRegion `json:"region"`
}

type sarifRegion struct {
	StartLine  int            `json:"startLine"`
	Properties map[string]any `json:"properties,omitempty"`
}

type sarifLogical struct {
	Name      string `json:"name"`
	Qualified string `json:"fullyQualifiedName"`
	Kind      string `json:"kind"`
}

type sarifProperties struct {
	Targets    []string `json:"targets"`
	Measures   string   `json:"measures,omitempty"`
	Remedy     string   `json:"remedy,omitempty"`
	Confidence string   `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	Against    string   `json:"against,omitempty"`
}

// sourceRoot is the base of locations: the root of the repository.
const sourceRoot = "%SRCROOT%"

// WriteSARIF writes the report for tools that show findings in a code review. Root is the folder that locations are
// relative to, version that of the tool.
func (r *Report) WriteSARIF(w io.Writer, root, version string) error {
	file, err := r.location(root)
	if err != nil {
		return err
	}
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: sarifToolName, Version: version, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Artifacts:  []sarifArtifact{{file}},
		Results:    []sarifResult{},
	}
	if file.BaseID != "" {
		run.BaseIDs = map[string]any{sourceRoot: map[string]any{"description": sarifText{"the root of the repository"}}}
	}
	rules := map[diag.ID]int{}
	for _, f := range r.Functions {
		for _, g := range f.meetings() {
			i, ok := rules[g.ID]
			if !ok {
				i = len(rules)
				rules[g.ID] = i
				row := g.ID.Row()
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
					row.ID, sarifText{row.Title}, sarifText{help(row)}, sarifDefault{level(g.Severity)},
				})
			}
			run.Results = append(run.Results, f.result(g, i, file))
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// help is what is known of an ID, whatever the model.
func help(row *diag.Row) string {
	if row.Helps == "" {
		return row.Doc
	}
	return row.Doc + " Instead: " + row.Helps + "."
}

func level(s Severity) string {
	if s == Note {
		return "note"
	}
	return "warning"
}

// result is a finding about one operation, on all targets that have it.
func (f *Function) result(g *Group, rule int, file sarifFile) sarifResult {
	location := sarifLocation{
		Physical: sarifPhysical{File: file, Region: sarifRegion{StartLine: 1}},
		Logical:  []sarifLogical{{f.Name, f.Name, "function"}},
	}
	subject := "function " + f.Name
	if len(g.Operations) > 0 {
		o := f.Operations[g.Operations[0]]
		subject = fmt.Sprintf("%s %q", o.Kind, o.Name)
		location.Logical = []sarifLogical{{o.Name, f.Name + "/" + o.Name, "operation"}}
		if o.Line > 0 {
			location.Physical.Region.StartLine = o.Line
		} else {
			location.Physical.Region.Properties = map[string]any{"byteOffset": o.Offset}
		}
	}
	text := fmt.Sprintf("%s on %s: %s", subject, g.On(), printable(g.Text))
	if m := g.Measured(); m != "" {
		text += " (" + m + ")"
	}
	text += "."
	if g.Remedy != "" {
		text += " Instead: " + printable(g.Remedy) + "."
	}
	text = strings.NewReplacer("{", "{{", "}", "}}").Replace(text) // braces alone stand for arguments
	return sarifResult{
		RuleID: g.ID, RuleIndex: rule, Level: level(g.Severity), Message: sarifText{text},
		Locations:    []sarifLocation{location},
		Fingerprints: map[string]string{"espalierFinding/v1": fingerprint(string(g.ID), f.Name, location.Logical[0].Name, g.Remedy)},
		Properties:   sarifProperties{g.Targets, g.Measured(), g.Remedy, g.Known(), g.Source, g.Against},
	}
}

// fingerprint tells findings apart across changes of the model: line and byte are not in it.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// location is the file of the model that has the operations, relative to the root if it lies there.
func (r *Report) location(root string) (sarifFile, error) {
	path, err := filepath.Abs(programFile(r.Model))
	if err != nil {
		return sarifFile{}, err
	}
	if base, err := filepath.Abs(root); err == nil {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return sarifFile{(&url.URL{Path: filepath.ToSlash(rel)}).String(), sourceRoot}, nil // ./a:b for a:b, which has no scheme
		}
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive
	}
	return sarifFile{URI: (&url.URL{Scheme: "file", Path: slashed}).String()}, nil
}

// programFile is the file of a package or a compiled model that has its operations.
func programFile(model string) string {
	for _, pattern := range []string{"model.mil", "Data/com.apple.CoreML/*.mlmodel"} {
		found, _ := filepath.Glob(filepath.Join(globSafe(model), filepath.FromSlash(pattern)))
		for _, file := range found {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				return file
			}
		}
	}
	return model
}

// globSafe has a path stand for itself in a pattern. Windows has no escapes there, and no such characters in names.
func globSafe(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
