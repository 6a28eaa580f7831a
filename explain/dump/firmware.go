package dump

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/firmware"
)

// Firmware is a firmware container.
type Firmware struct {
	Programs []FirmwareProgram `json:"programs"`
}

// A FirmwareProgram is a program of a firmware container.
type FirmwareProgram struct {
	Identity   string            `json:"identity"`
	Slot       int32             `json:"slot"`
	Procedures uint32            `json:"procedures"`
	Sections   []FirmwareSection `json:"sections"`
}

// A FirmwareSection is a part of a program.
type FirmwareSection struct {
	Kind    string `json:"kind"`
	Address string `json:"address"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256"`
}

func explainFirmware(f *file) (Content, error) {
	p, err := firmware.Read(f.data)
	if err != nil {
		return nil, f.named(err)
	}
	r := &Firmware{Programs: []FirmwareProgram{}}
	for _, program := range p.Programs {
		row := FirmwareProgram{Identity: hex.EncodeToString(program.Identity[:]), Slot: program.Slot, Procedures: program.Procedures, Sections: []FirmwareSection{}}
		for _, s := range program.Sections {
			sum := sha256.Sum256(s.Data)
			row.Sections = append(row.Sections, FirmwareSection{s.Kind.String(), report.Address(s.Address), len(s.Data), hex.EncodeToString(sum[:])})
		}
		r.Programs = append(r.Programs, row)
	}
	return r, nil
}

func (d *Firmware) writeText(w *bufio.Writer, h *Head) {
	h.writeText(w, report.Count(len(d.Programs), "program"))
	for _, p := range d.Programs {
		slot := "no slot yet"
		if p.Slot >= 0 {
			slot = fmt.Sprintf("slot %d", p.Slot)
		}
		fmt.Fprintf(w, "program %s\n  %s, %s\n", p.Identity, slot, report.Count(int(p.Procedures), "procedure"))
		var rows [][]string
		for _, s := range p.Sections {
			rows = append(rows, []string{s.Kind, report.Count(s.Size, "byte"), "at " + s.Address, "SHA-256 " + s.SHA256})
		}
		report.Columns(w, "  ", rows)
	}
}
