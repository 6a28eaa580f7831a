package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Tables that decide by the sign are those of the records.
func TestSignTables(t *testing.T) {
	for _, c := range []struct {
		record string
		table  *td.Table
		hash   string // of the first bytes of its SHA-256
	}{
		{"less_bool_rr_1x64x1x1", SignTable(units.One, 0, 0), "7e690e6a168e558e"},
		{"select_rrb_1x64x1x1", SignTable(units.One, 0, units.One), "84dad0d8f054aa8e"},
		{"logical_not_1x1x64x64", SignTable(0, units.One, 0), "ee52b53b5f3fa423"},
	} {
		if sum := sha256.Sum256(c.table.Encode()); hex.EncodeToString(sum[:8]) != c.hash {
			t.Errorf("%s: the table's hash begins with %x, want %s", c.record, sum[:8], c.hash)
		}
	}
}
