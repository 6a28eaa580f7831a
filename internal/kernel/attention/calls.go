package attention

// What the machine code is told: of pitches and strides the bytes.
type (
	rowsCall struct {
		dst                       *float32
		src                       *byte
		pitch, stride, rows, cols int
		width                     int // of a row with what fills it up
	}
	turnCall struct {
		dst, src          *float32
		pitch, cols, rows int
		scale             float32
	}
	scoresCall struct {
		s, q, k               *float32
		pitch, features, keys int
		bias                  *float32 // nil: none
		apart                 int      // from the biases of a key to those of the next; 0: one for all positions
	}
	powersCall struct {
		s                *float32
		keys             int
		top, total, down *float32
		scale            float32
	}
	downCall struct {
		o    *float32
		rows int
		down *float32
	}
	valuesCall struct {
		o, s, v     *float32
		pitch, keys int
		down        *float32
	}
	putCall struct {
		dst                       *byte
		o                         *float32
		stride, pitch, rows, cols int
		factors                   *float32
	}
)
