package driver

import "github.com/espalier-ane/espalier/firmware"

// Qualities of service, 0 to 63, as the client's frameworks number them.
const (
	RealTime        = 0
	Background      = 9
	Utility         = 17
	Default         = 21
	UserInitiated   = 25
	UserInteractive = 33

	MaxQoS = 63
)

// qosRow says which priority a quality of service gets.
type qosRow struct {
	Name     string
	QoS      int
	Priority int
	Source   string
}

const mapperSource = "published decompilations of _ANEQoSMapper, AppleNeuralEngine.framework"

// qosRows is the table. Priorities 0 and 1 are the system's: no quality of service leads there.
//
//	0 1 │ 2         3                4               5        6        7
//	    │ real time user interactive user initiated  default  utility  background
//	the system's    application band: real time first
var qosRows = []qosRow{
	{"real time", RealTime, 2, mapperSource + ": realTimeProgramPriority"},
	{"user interactive", UserInteractive, 3, mapperSource + ": qosForProgramPriority gives 33 below 4"},
	{"user initiated", UserInitiated, 4, mapperSource + ": the values are in another table; the order is that of the names"},
	{"default", Default, 5, "guide 27: the pair (5, 21) of a request, as measured; " + mapperSource + ": 5 for a value that it does not know"},
	{"utility", Utility, 6, mapperSource + ": the values are in another table; the order is that of the names"},
	{"background", Background, 7, mapperSource + ": the values are in another table; the order is that of the names"},
}

// defaultPriority is that of a quality of service that has no name: "Invalid qos requested", and it is the default's.
const defaultPriority = 5

// PriorityOf is the priority of a quality of service, and whether there is one of that number.
func PriorityOf(qos int) (priority int, ok bool) {
	if qos < 0 || qos > MaxQoS {
		return 0, false
	}
	for i := range qosRows {
		if qosRows[i].QoS == qos {
			return qosRows[i].Priority, true
		}
	}
	return defaultPriority, true
}

// QoSOf is the quality of service that a priority stands for.
func QoSOf(priority int) int {
	for i := range qosRows {
		if qosRows[i].Priority == priority {
			return qosRows[i].QoS
		}
	}
	return UserInteractive
}

// priorities is how many there are.
const priorities = firmware.Priorities
