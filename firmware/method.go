package firmware

import (
	"fmt"
	"strings"
)

// A Method is a call into the kernel's driver: a row of the table against which
// the kernel checks the sizes of a call before it lets it through.
//
// The tables are those of guide 27, read from the kernel. The seed's table 23.14
// has both clients in one list, where a selector that stands for two methods is
// told apart by the size of what it is given: FindMethod. That works but for
// selector 8, for which both methods take 32 bytes, so that only the client
// tells. Four rows of the seed differ in their sizes: it leaves out the scalar
// that 2 is given, has the 2080 bytes of 5 come out instead of going in, and has
// 4 and 9 return a pointer instead of 56 and 24 bytes. Guide C.2 counts the
// direct-path client on from the other's seventeen methods: its 21 and 22 are 4
// and 5 here.
type Method struct {
	Client    Client
	Selector  uint32
	Name      string // without the prefix ANE_
	ScalarIn  int    // how many 64-bit numbers are given
	StructIn  int    // how many bytes are given
	ScalarOut int    // how many 64-bit numbers are returned
	StructOut int    // how many bytes are returned
	Async     bool   // the answer comes through a port, later
}

// Client is one of the two connections to the driver. Each numbers its methods
// from zero.
type Client uint8

// The clients.
const (
	Control    Client = iota // life of programs, and inference
	DirectPath               // inference with less ado
)

var clientNames = [...]string{"control", "direct path"}

func (c Client) String() string {
	if int(c) >= len(clientNames) {
		return fmt.Sprintf("client %d", uint8(c))
	}
	return clientNames[c]
}

// Methods returns the methods of both clients, by client and selector.
func Methods() []Method { return methods[:] }

var methods = [...]Method{
	{Control, 0, "DeviceOpen", 0, 104, 0, 104, false},
	{Control, 1, "DeviceClose", 0, 0, 0, 0, false},
	{Control, 2, "ProgramSendRequest", 1, 2376, 0, 40, true},
	{Control, 3, "ProgramCreate", 0, 32, 0, 0, false},
	{Control, 4, "ProgramPrepare", 0, 56, 0, 56, false},
	{Control, 5, "ProgramUnprepare", 0, 56, 0, 0, false},
	{Control, 6, "ProgramDestroy", 0, 16, 0, 0, false},
	{Control, 7, "GetStatus", 0, 0, 0, 32, false},
	{Control, 8, "ProgramCreateInstance", 0, 32, 0, 0, false},
	{Control, 9, "ProgramChainingPrepare", 0, 16, 0, 24, false},
	{Control, 10, "GetVersion", 0, 0, 1, 0, false},
	{Control, 11, "RegisterDebugWorkProcessor", 0, 24, 0, 0, false},
	{Control, 12, "UnregisterDebugWorkProcessor", 0, 0, 0, 0, false},
	{Control, 13, "GetDebugWorkProcessorItem", 2, 0, 0, 0, false},
	{Control, 14, "CompleteDebugWorkProcessorItem", 2, 0, 0, 0, false},
	{Control, 15, "ReleaseDebugWorkProcessorBuffers", 0, 0, 0, 0, false},
	{Control, 16, "LoadFirmware", 3, 0, 0, 0, false}, // always kIOReturnUnsupported

	{DirectPath, 0, "DeviceOpen", 0, 104, 0, 104, false},
	{DirectPath, 1, "DeviceClose", 0, 0, 0, 0, false},
	{DirectPath, 2, "ProgramSendRequest", 1, 2376, 0, 40, true},
	{DirectPath, 3, "ProgramOutputSetEnqueue", 0, 40, 0, 0, false},
	{DirectPath, 4, "ProgramInputsReady", 0, 3104, 0, 0, false},
	{DirectPath, 5, "MemoryMapRequest", 1, 2080, 1, 0, false},
	{DirectPath, 6, "MemoryUnMapRequest", 0, 2080, 0, 0, false},
	{DirectPath, 7, "SessionHintRequest", 0, 16, 0, 24, false},
	{DirectPath, 8, "ProgramChainingSetActiveProcedure", 0, 32, 0, 0, false},
}

// Method returns the client's method with the selector.
func (c Client) Method(selector uint32) (Method, bool) {
	for _, m := range methods {
		if m.Client == c && m.Selector == selector {
			return m, true
		}
	}
	return Method{}, false
}

// FindMethod finds the method that a selector stands for when it is given so
// many bytes, whichever the client. A method that both clients have is the same
// method.
func FindMethod(selector uint32, structIn int) (Method, error) {
	var found []Method
	var sizes []string
	for _, m := range methods {
		if m.Selector != selector {
			continue
		}
		sizes = append(sizes, fmt.Sprintf("%s of the %v client takes %d bytes", m.Name, m.Client, m.StructIn))
		if m.StructIn == structIn && (len(found) == 0 || found[0].Name != m.Name) {
			found = append(found, m)
		}
	}
	switch {
	case len(sizes) == 0:
		return Method{}, fmt.Errorf("selector %d: there is none", selector)
	case len(found) == 0:
		return Method{}, fmt.Errorf("selector %d with %d bytes: %s", selector, structIn, strings.Join(sizes, ", "))
	case len(found) > 1:
		return Method{}, fmt.Errorf("selector %d with %d bytes: %s or %s, as the client is %v or %v",
			selector, structIn, found[0].Name, found[1].Name, found[0].Client, found[1].Client)
	}
	return found[0], nil
}
