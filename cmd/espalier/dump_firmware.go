package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/espalier-ane/espalier/firmware"
)

// The types of this file are the schema of dump --json for firmware containers; docs/json.md explains them.

type firmwareDump struct {
	dumpHead
	Programs []firmwareProgram `json:"programs"`
}

type firmwareProgram struct {
	Identity   string            `json:"identity"`
	Slot       int32             `json:"slot"`
	Procedures uint32            `json:"procedures"`
	Sections   []firmwareSection `json:"sections"`
}

type firmwareSection struct {
	Kind    string `json:"kind"`
	Address string `json:"address"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256"`
}

func explainFirmware(d *dumpFile) (explanation, error) {
	p, err := firmware.Read(d.data)
	if err != nil {
		return nil, d.named(err)
	}
	r := &firmwareDump{dumpHead: d.dumpHead, Programs: []firmwareProgram{}}
	for _, program := range p.Programs {
		row := firmwareProgram{Identity: hex.EncodeToString(program.Identity[:]), Slot: program.Slot, Procedures: program.Procedures, Sections: []firmwareSection{}}
		for _, s := range program.Sections {
			sum := sha256.Sum256(s.Data)
			row.Sections = append(row.Sections, firmwareSection{s.Kind.String(), hexAddress(s.Address), len(s.Data), hex.EncodeToString(sum[:])})
		}
		r.Programs = append(r.Programs, row)
	}
	return r, nil
}

func (d *firmwareDump) print(w *bufio.Writer) {
	d.printHead(w, plural(len(d.Programs), "program"))
	for _, p := range d.Programs {
		slot := "no slot yet"
		if p.Slot >= 0 {
			slot = fmt.Sprintf("slot %d", p.Slot)
		}
		fmt.Fprintf(w, "program %s\n  %s, %s\n", p.Identity, slot, plural(int(p.Procedures), "procedure"))
		var rows [][]string
		for _, s := range p.Sections {
			rows = append(rows, []string{s.Kind, plural(s.Size, "byte"), "at " + s.Address, "SHA-256 " + s.SHA256})
		}
		printColumns(w, "  ", rows)
	}
}
