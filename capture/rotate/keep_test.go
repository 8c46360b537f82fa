package rotate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// keepFiles writes 12 packets, one every second, in files of one each, into a folder
// that holds some already, and returns what is there then.
func keepFiles(t *testing.T, opt Options, before ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range before {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt.Every = time.Second
	r := newFile(t, filepath.Join(dir, "out.pcap"), opt)
	for _, b := range oneByOne(t, forge.Pcap(1, 12, 1, 0)) {
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	return readRotated(t, dir).names
}

// TestKeeps few files, those of runs before it counted too, and none that only
// look alike.
func TestKeeps(t *testing.T) {
	others := []string{"out-x.pcap", "out-19700101T000000.000Z.pcapng", "other-19700101T000000.000Z.pcap", "out.pcap"}
	earlier := []string{"out-19691231T235959.999Z.pcap", "out-19691231T235959.999Z_002.pcap", "out-19691231T235959.999Z_010.partial.pcap"}
	all := keepFiles(t, Options{})
	if len(all) < 5 {
		t.Fatalf("%q", all)
	}
	last := all[len(all)-4:]
	for name, opt := range map[string]Options{
		"number": {Keep: 4},
		"both":   {Keep: 4, KeepBytes: 1 << 20},
	} {
		got := keepFiles(t, opt, slices.Concat(others, earlier)...)
		if want := slices.Sorted(slices.Values(slices.Concat(others, last))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// The newest stays, however large it is.
	if got := keepFiles(t, Options{KeepBytes: 1}, earlier...); !slices.Equal(got, all[len(all)-1:]) {
		t.Errorf("%q", got)
	}
	// All of the run before goes first.
	if got := keepFiles(t, Options{KeepBytes: 2000}, earlier...); slices.Contains(got, earlier[0]) || !slices.Contains(got, all[0]) {
		t.Errorf("%q", got)
	}
}
