package hal

import "strconv"

// Driver is what the host's side of an engine keeps count of. 0: it is not bound.
type Driver struct {
	InFlight   int // commands that the engine has at a time; 0: as many as there are threads to compute on
	Programs   int // that are loaded
	Processes  int // instances of them
	QueueDepth int // requests of a process that wait
	Buffers    int // slots of a client for what it maps
	OutputSets int // of a chain
	Aperture   int // bytes of addresses that the engine sees of a client
}

// Commands in flight are what the M1 shows; the slots of programs and processes are asserted by its firmware.
const (
	inFlightSource = "seed execution-model: one firmware command in flight, two threads measured at 1.04 times; of the M1 alone"
	slotsSource    = "guide 30, the validator of procedure calls, of the M1 alone"
	depthSource    = "chaining-research, phase 9: queueDepth=127, on the M4 Max"
	apertureSource = "guide 28: 3.5 GiB from 0, of the M1"
	setsSource     = "guide 29 and 30: nbrOfOutputBufferSets == 1, of the M1"
	buffersSource  = "chaining-research, experiment N: 128 slots of ANEMemoryMappingParamsStruct, on the M4 Max"
)

func driver(t *Target) Driver {
	d := Driver{InFlight: 1, Programs: 144, Processes: 288, QueueDepth: 127, Buffers: 128, OutputSets: 1, Aperture: 0xe000_0000}
	if t.Family == Virtual {
		d.InFlight, d.Programs, d.Processes, d.OutputSets, d.Aperture = 0, 0, 0, 0, 1<<46
	}
	return d
}

// driverValues lists the fields for Values.
func (t *Target) driverValues(add func(name, text string, status Status, source string)) {
	measured := func(chip string, s Status) Status {
		if t.on(chip) || t.Family == Virtual {
			return s
		}
		return Predicted
	}
	text := func(n int, unbound string) string {
		if n == 0 {
			return unbound
		}
		return strconv.Itoa(n)
	}
	d := t.Driver
	add("in_flight", text(d.InFlight, "one for each thread"), measured("h13g", Measured), inFlightSource)
	add("program_slots", text(d.Programs, "no limit"), measured("h13g", Decoded), slotsSource)
	add("process_slots", text(d.Processes, "no limit"), measured("h13g", Decoded), slotsSource)
	add("queue_depth", strconv.Itoa(d.QueueDepth), measured("h16c", Measured), depthSource)
	add("output_sets", text(d.OutputSets, "no limit"), measured("h13g", Decoded), setsSource)
	add("aperture", limitText(d.Aperture, "bytes"), measured("h13g", Measured), apertureSource)
	add("buffer_slots", strconv.Itoa(d.Buffers), measured("h16c", Measured), buffersSource)
}
