package cli

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

const (
	// floodLimit is the memory of the cgroup, of which counters take an eighth. Without a bound they
	// would need twice as much for floodFlows.
	floodLimit = 128 << 20
	floodFlows = 3 << 20
)

// memoryCgroup makes a cgroup of so much memory, of either version.
func memoryCgroup(t *testing.T, limit int) (dir string) {
	t.Helper()
	for _, c := range []struct{ mount, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		dir = filepath.Join(c.mount, "flowdedup-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { waitFor(t, "the cgroup to be empty", func() bool { return os.Remove(dir) == nil }) })
		if os.WriteFile(filepath.Join(dir, c.file), []byte(strconv.Itoa(limit)), 0) == nil {
			return dir
		}
	}
	t.Skip("no cgroup with a limit of memory can be made here")
	return ""
}

// startInCgroup starts a live run in a cgroup, and waits until it captures.
func startInCgroup(t *testing.T, dir string, args ...string) *liveRun {
	t.Helper()
	cmd := program(t, append([]string{"live"}, args...)...)
	cmd.Args = append([]string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, dir, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	r := &liveRun{t: t, cmd: cmd}
	cmd.Stdout = &r.stdout
	r.start()
	r.event(" started ")
	return r
}

// flood sends packets each of a flow and a source of its own.
func flood(t *testing.T, name string, flows int) {
	t.Helper()
	s, err := ring.OpenSender(ring.SenderConfig{Interface: name, Queue: true, RetryTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	frame := liveFrame{ttl: 64}.bytes()
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
	for sent := 0; sent < flows; {
		b.Buf, b.Frames = b.Buf[:0], b.Frames[:0]
		for range 2048 {
			b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(len(frame)), WireLen: uint32(len(frame))})
			b.Buf = append(b.Buf, frame...)
			source := b.Buf[len(b.Buf)-len(frame)+14+12:]
			binary.BigEndian.PutUint32(source, uint32(sent)*0x9e3779b1)
			sent++
		}
		if err := s.Send(b, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLiveFlood survives a flood of spoofed sources in a cgroup that has too little memory to remember
// them, and counts them.
func TestLiveFlood(t *testing.T) {
	lab(t)
	dir := memoryCgroup(t, floodLimit)
	pair(t, "left", "right")
	reports := filepath.Join(t.TempDir(), "counts.jsonl")
	r := startInCgroup(t, dir, "-i", "right", "--ring-size", "16MiB", "--of", "src,flow", "--every", "8760h", "--slide", "1s",
		"--reports", reports, "--json")
	flood(t, "left", floodFlows)
	time.Sleep(3 * time.Second) // the last report of the past has all
	s := r.stop()
	if s.PacketsIn < floodFlows/10 {
		t.Skipf("only %d of %d packets were captured", s.PacketsIn, floodFlows)
	}
	rows := floodRows(t, reports)
	if len(rows) != 4 {
		t.Errorf("%d last counts, want those of the window and of the past: %+v", len(rows), rows)
	}
	for _, row := range rows {
		// Bounds fail in 5 of 100 runs. Three times as wide they do not (6 standard deviations).
		off, wide := math.Abs(float64(row.Distinct)-float64(s.PacketsIn)), 3*float64(row.High-row.Low)/2
		if off > wide || row.Low > row.Distinct || row.Distinct > row.High {
			t.Errorf("%+v, want %d", row, s.PacketsIn)
		}
		if row.Of == "flow" && row.Low == row.High || float64(row.High-row.Low) > 0.1*float64(row.Distinct) {
			t.Errorf("%+v: not a good sample", row)
		}
	}
	t.Logf("%d packets captured, %d dropped: %+v", s.PacketsIn, s.dropped(), rows)
}

// floodRow is the part of a report that the test looks at.
type floodRow struct {
	Of, Family, Method           string
	Distinct, Low, High, Packets uint64
	MemoryBytes                  int `json:"memory_bytes"`
}

// floodRows returns the last counts of IPv4, of the window and of the past.
func floodRows(t *testing.T, name string) (rows []floodRow) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	last := map[[2]string]floodRow{}
	for line := range strings.Lines(string(data)) {
		var row floodRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(errors.Join(err, errors.New(line)))
		}
		if row.Family == "ipv4" {
			last[[2]string{row.Of, row.Method}] = row
		}
	}
	for _, row := range last {
		rows = append(rows, row)
	}
	return rows
}
