package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/compiler"
)

// A process of a test is this binary again: envProcess says what it does, envCache and envModel with what.
const (
	envProcess = "ESPALIER_BUILD_TEST"
	envCache   = "ESPALIER_BUILD_TEST_CACHE"
	envModel   = "ESPALIER_BUILD_TEST_MODEL"
	envKills   = "ESPALIER_KILLS" // how many processes TestKill kills
)

func TestMain(m *testing.M) {
	switch os.Getenv(envProcess) {
	case "once":
		exit(processOnce())
	case "many":
		exit(processMany())
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func processJob() (*Cache, *compiler.Job, error) {
	c, err := Open(os.Getenv(envCache), 0)
	if err != nil {
		return nil, nil, err
	}
	c.version = func() (string, error) { return "1", nil }
	m, err := coreml.Open(os.Getenv(envModel))
	if err != nil {
		return nil, nil, err
	}
	job, err := jobOf(m, "h13")
	return c, job, err
}

// processOnce builds one job when its standard input ends, and says how.
func processOnce() error {
	c, job, err := processJob()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	built, err := c.Build(context.Background(), Request{Job: job, Note: func(err error) { fmt.Println("note", err) }})
	if err == nil {
		fmt.Println("cached", built.Cached)
	}
	return err
}

// variantJob is one of several jobs with different keys.
func variantJob(job *compiler.Job, i int) *compiler.Job {
	j := *job
	j.Functions = append(j.Functions[:0:0], j.Functions...)
	f := *j.Functions[0].Function
	f.Name = fmt.Sprintf("f%d", i)
	j.Functions[0].Function = &f
	return &j
}

const variantJobs = 8

// processMany builds jobs for as long as it is let. It forgets what it has built now and then, such that it is written again.
func processMany() error {
	blobSize = 40 << 10 // some containers are files by themselves
	c, job, err := processJob()
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		j := variantJob(job, rand.IntN(variantJobs))
		if _, err := c.Build(context.Background(), Request{Job: j, Note: func(err error) { fmt.Println("note", err) }}); err != nil {
			return err
		}
		k, _, err := c.keyOf(context.Background(), j)
		if err != nil {
			return err
		}
		if rand.IntN(2) == 0 {
			os.Remove(c.keyFile(k))
		}
	}
}

func startProcess(t *testing.T, what, cache, model string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envProcess+"="+what, envCache+"="+cache, envModel+"="+model)
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("a process says %q", lines.Text())
	}
	return cmd, in, lines
}

// Sixteen processes that ask at once compile once.
func TestProcessesCompileOnce(t *testing.T) {
	c, path := openCache(t), copyModel(t, "tiny_mobilenet")
	const processes = 16
	var inputs []io.WriteCloser
	var outputs []*bufio.Scanner
	for range processes {
		cmd, in, out := startProcess(t, "once", c.dir, path)
		defer cmd.Wait()
		inputs, outputs = append(inputs, in), append(outputs, out)
	}
	for _, in := range inputs {
		in.Close() // go
	}
	compiled := 0
	for _, out := range outputs {
		if !out.Scan() {
			t.Fatal("a process says nothing")
		}
		switch out.Text() {
		case "cached false":
			compiled++
		case "cached true":
		default:
			t.Errorf("a process says %q", out.Text())
		}
	}
	if compiled != 1 {
		t.Errorf("%d processes compile", compiled)
	}
}

// Whatever a process that is killed was doing, a reader takes nothing that is wrong, and can go on. ESPALIER_KILLS=200 kills
// more of them.
func TestKill(t *testing.T) {
	kills := 12
	if n, err := strconv.Atoi(os.Getenv(envKills)); err == nil {
		kills = n
	}
	c, path := openCache(t), copyModel(t, "conv2d_basic")
	job := openJob(t, path, "h13")
	was := blobSize
	blobSize = 40 << 10
	defer func() { blobSize = was }()
	want := make([]*Built, variantJobs)
	for i := range want {
		want[i] = build(t, nil, variantJob(job, i))
	}
	r := rand.New(rand.NewPCG(uint64(kills), 1))
	found := 0
	for kill := range kills {
		cmd, _, lines := startProcess(t, "many", c.dir, path)
		time.Sleep(time.Duration(r.IntN(30000)) * time.Microsecond)
		check(t, cmd.Process.Kill())
		for lines.Scan() {
			t.Errorf("kill %d: the process says %q", kill, lines.Text())
		}
		cmd.Wait()
		for i := range want {
			k, weights, err := c.keyOf(context.Background(), variantJob(job, i))
			check(t, err)
			if built := c.load(k, weights, true); built != nil {
				found++
				same(t, fmt.Sprintf("kill %d, job %d", kill, i), built.Bundle, want[i].Bundle)
			}
		}
		check(t, c.Trim())
		if l, err := c.List(); err != nil {
			t.Error(err)
		} else {
			for _, e := range l.Entries {
				if e.Err != nil {
					t.Errorf("kill %d: after a trim: %v", kill, e.Err)
				}
			}
		}
	}
	t.Logf("%d kills, and %d entries found after them", kills, found)
	for i := range want { // no lock is left, and nothing stands in the way
		same(t, "in the end", build(t, c, variantJob(job, i)).Bundle, want[i].Bundle)
		if !build(t, c, variantJob(job, i)).Cached {
			t.Error("nothing is kept any more")
		}
	}
	later(c, 2*orphanAge)
	check(t, c.Trim())
	blobs, err := os.ReadDir(filepath.Join(c.dir, blobsDir))
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	for _, d := range blobs {
		if strings.HasPrefix(d.Name(), "tmp-") {
			t.Errorf("%s is left", d.Name())
		}
	}
}
