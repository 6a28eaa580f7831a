package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// A Machine is what figures depend on beside the programs.
type Machine struct {
	Processor string `json:"processor"`
	Sets      string `json:"sets"` // instruction sets that we know of
	Cores     int    `json:"cores"`
	System    string `json:"system"`
	Go        string `json:"go"`
	Commit    string `json:"commit"` // of this project
	Peer      string `json:"peer"`   // version of ONNX Runtime, or why it is missing
	Time      string `json:"time"`
}

func describeMachine(peer string) Machine {
	m := Machine{
		Processor: "unknown", Sets: isa.Have().String(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Peer: peer,
		Commit: "unknown", Time: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
	}
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name":
			m.Processor = strings.TrimSpace(value)
		case "flags":
			if strings.Contains(value, " hypervisor") && !strings.Contains(m.System, "virtual") {
				m.System += ", a virtual machine"
			}
		}
	}
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// A meter tells how much of the machine other processes use: figures that were
// measured beside others are rough.
type meter struct {
	all, own time.Duration // that processors were busy, for all and for this process
	start    time.Time
}

func startMeter() meter { return meter{busy(), ownTime(), time.Now()} }

// others returns the share of the machine since the start, 0 where the system does
// not tell.
func (m meter) others() float64 {
	capacity := float64(time.Since(m.start)) * float64(runtime.NumCPU())
	used := float64(busy()-m.all) - float64(ownTime()-m.own)
	return max(used/capacity, 0)
}

// busy reads how long the processors of the machine were not idle.
func busy() time.Duration {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return 0
	}
	defer file.Close()
	line, _ := bufio.NewReader(file).ReadString('\n')
	ticks := 0
	for i, field := range strings.Fields(line) {
		const idle, waiting, guest = 4, 5, 9 // guests are counted among users too
		if n, err := strconv.Atoi(field); err == nil && i != idle && i != waiting && i < guest {
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// ownTime is how long this process ran.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A resident is what a process has in memory, in bytes.
type resident struct {
	All  int64 `json:"all"`
	File int64 `json:"file"` // pages of files
}

func (r resident) anonymous() int64 { return r.All - r.File }

// residentNow reads what this process has in memory.
func residentNow() (r resident, err error) {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return r, err
	}
	var anonymous int64
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		key, value, _ := strings.Cut(line, ":")
		fmt.Sscan(value, &kilobytes)
		switch key {
		case "Rss":
			r.All = kilobytes << 10
		case "Anonymous":
			anonymous = kilobytes << 10
		}
	}
	r.File = r.All - anonymous
	return r, nil
}

// residentOf is how many bytes of the files in a folder this process has in memory by
// mapping them.
func residentOf(folder string) (bytes int64, err error) {
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	inside := false // of a mapping of such a file
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(line); len(fields) > 2 && strings.Contains(fields[0], "-") {
			inside = strings.Contains(line, folder+string(os.PathSeparator))
		} else if inside && key == "Rss" {
			var kilobytes int64
			fmt.Sscan(value, &kilobytes)
			bytes += kilobytes << 10
		}
	}
	return bytes, nil
}
