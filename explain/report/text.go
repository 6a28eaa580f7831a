package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Columns writes rows whose cells begin at the same column. Names in a model may be of any length: a long one moves only
// its own row.
func Columns(w io.Writer, indent string, rows [][]string) {
	const widest = 48
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := len([]rune(cell)); n <= widest {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], Printable(cell))
		}
		fmt.Fprintln(w, indent+strings.TrimRight(line.String(), " "))
	}
}

// Printable is a text of a file as a terminal may have it: in one line, and without control sequences.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// Count counts things: "1 record", "2,048 records".
func Count(n int, thing string) string { return CountOf(n, thing, thing+"s") }

// CountOf counts things whose plural has another form: "1 bias", "2 biases".
func CountOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands writes 1234567 as 1,234,567.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Size writes a number of bytes with a binary prefix.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// Short writes a number with five digits, which tell most apart.
func Short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// Address writes an address in the engine's memory.
func Address(a uint64) string { return fmt.Sprintf("0x%x", a) }

// Register writes the address of a register.
func Register(a uint32) string { return fmt.Sprintf("0x%05x", a) }

// Word writes a word of a task.
func Word(w uint32) string { return fmt.Sprintf("0x%08x", w) }

// At writes a place: a memory or symbol, and an offset from it.
func At(base string, offset int) string {
	if offset == 0 {
		return base
	}
	return fmt.Sprintf("%s+%#x", base, offset)
}
