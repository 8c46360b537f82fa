package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// truth is what is known of a bundled capture from how it was made.
type truth struct {
	Files      []string
	Identity   string
	WindowNS   int64 `json:"window_ns"`
	Across     bool
	Packets    uint64
	Duplicates uint64
	Removed    []int
}

// record is a packet with everything that must survive.
type record struct {
	time int64
	wire uint32
	data string
}

// TestTruth removes exactly the second sightings from the bundled captures,
// and keeps all others as they were.
func TestTruth(t *testing.T) {
	names, err := filepath.Glob(bundled("*.truth.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no truth: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var want truth
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"timed", "exact"} {
				checkTruth(t, &want, method)
			}
		})
	}
}

func checkTruth(t *testing.T, want *truth, method string) {
	t.Helper()
	kept, copies := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "copies")
	args := []string{
		"--method", method, "--identity", want.Identity, "--window", time.Duration(want.WindowNS).String(),
		"-w", kept, "--duplicates", copies,
	}
	if want.Across {
		args = append(args, "--across")
	}
	var inputs []string
	for _, f := range want.Files {
		inputs = append(inputs, bundled(f))
	}
	r := runDedup(t, exitDone, append(args, inputs...)...)
	if r.PacketsIn != want.Packets || r.Duplicates != want.Duplicates || r.EvictedLive != 0 {
		t.Errorf("%s: %d packets, %d duplicates, %d forgotten; want %d and %d",
			method, r.PacketsIn, r.Duplicates, r.EvictedLive, want.Packets, want.Duplicates)
	}
	all := readAll(t, inputs...)
	removed := map[int]bool{}
	for _, i := range want.Removed {
		removed[i] = true
	}
	var wantKept, wantCopies []record
	for i, p := range all {
		if removed[i] {
			wantCopies = append(wantCopies, p)
		} else {
			wantKept = append(wantKept, p)
		}
	}
	compareRecords(t, method+": kept", readAll(t, kept), wantKept)
	compareRecords(t, method+": copies", readAll(t, copies), wantCopies)
}

func compareRecords(t *testing.T, what string, got, want []record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d packets, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: packet %d differs", what, i)
			return
		}
	}
}

// readAll reads the packets of all files in time order.
func readAll(t *testing.T, names ...string) []record {
	t.Helper()
	var sources []capture.Source
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	src := pcapfile.Merge(sources, nil)
	defer src.Close()
	var out []record
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range b.Frames {
			out = append(out, record{f.Time, f.WireLen, string(b.Data(i))})
		}
	}
}

// TestFrameIdentityKeepsCopies removes none of the copies that have another
// VLAN tag or another TTL.
func TestFrameIdentityKeepsCopies(t *testing.T) {
	for _, name := range []string{"router-vlan.pcapng", "router-plain.pcapng", "router-qinq.pcapng"} {
		if r := runDedup(t, exitDone, "--identity", "frame", bundled(name)); r.Duplicates != 0 {
			t.Errorf("%s: %d duplicates", name, r.Duplicates)
		}
	}
}
