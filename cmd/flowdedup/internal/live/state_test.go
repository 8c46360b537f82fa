// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	copies "github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestStateStopped checks that a save that is stopped at any moment leaves the previous
// file and nothing else.
func TestStateStopped(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "state.zst")
	s := &state{run: &runner{cfg: &config{State: name}, log: slog.New(slog.DiscardHandler)}}
	for range 3 {
		s.copy.Write(make([]byte, 1<<10))
	}
	old := testHeader()
	if _, err := s.write(old, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := readState(opened(t, name)); err != nil || !h.Saved.Equal(old.Saved) {
		t.Fatal("a name that ends as those of compressed files: ", err)
	}
	const looks = 6 // the header, three writes, the sum, and before the end
	for after := range looks {
		h, seen := testHeader(), 0
		h.Saved = h.Saved.Add(time.Hour)
		_, err := s.write(h, func() bool { seen++; return seen > after })
		if !errors.Is(err, errSuperseded) {
			t.Errorf("stopped after %d looks: %v", after, err)
		}
		s.saved(0, h.Saved, err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
		t.Error("the file before was changed: ", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if status := s.show(); status.Failed != "" || !status.Saved.IsZero() {
		t.Errorf("told: %+v", status)
	}
}

func testHeader() *stateHeader {
	return &stateHeader{
		Saved: time.Date(2026, 11, 21, 22, 0, 0, 1, time.UTC), Begin: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		Settings: []setting{{"--window", "1ms"}, {"--of", ""}},
		Secret:   bytes.Repeat([]byte{7}, len(engine.Secret{})),
		Stats:    dedup.SavedStats{Counts: copies.Counts{Tally: copies.Tally{Packets: 3, Bytes: 1 << 60, First: -1, Last: 1 << 62}}, Conversations: traits.SplitCounts{Sampled: 9, Split: 8, Tagged: 7}},
		Diffs:    traits.Counts{Sampled: 5, Exact: 5},
		Open:     windows.Saved{Windows: []windows.SavedWindow{{Start: 1, End: 2, Packets: 3, Counters: []windows.SavedCounter{{Key: 1, Family: "v6", Packets: 3}}}}},
	}
}

// written returns a state file with a header and snapshots.
func written(t *testing.T, h *stateHeader, snapshots string) []byte {
	t.Helper()
	var b bytes.Buffer
	size, err := h.write(&b, strings.NewReader(snapshots))
	if err != nil || size != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", size, b.Len(), err)
	}
	return b.Bytes()
}

func opened(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// TestStateFile reads what was written.
func TestStateFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	if _, _, err := readState(opened(t, t.TempDir())); err == nil || errors.Is(err, errState) {
		t.Errorf("a folder: %v", err)
	}
	for _, snapshots := range []string{"", "snapshots"} {
		h := testHeader()
		if err := os.WriteFile(name, written(t, h, snapshots), 0o600); err != nil {
			t.Fatal(err)
		}
		got, r, err := readState(opened(t, name))
		if err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || string(rest) != snapshots || !reflect.DeepEqual(got, h) {
			t.Errorf("%q, %v, and %+v, want %+v", rest, err, got, h)
		}
	}
}

// TestStateFileWriter checks for the error of a full disk.
func TestStateFileWriter(t *testing.T) {
	whole := written(t, testHeader(), "snapshots")
	full := errors.New("full")
	for room := range len(whole) {
		if _, err := testHeader().write(&limitedWriter{room, full}, strings.NewReader("snapshots")); !errors.Is(err, full) {
			t.Fatalf("room for %d of %d bytes: %v", room, len(whole), err)
		}
	}
}

type limitedWriter struct {
	room int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestStateFileDamaged checks that a file with any change is rejected, with a reason.
func TestStateFileDamaged(t *testing.T) {
	good := written(t, testHeader(), "snapshots")
	decodes := func(content []byte) error {
		_, _, err := decodeState(bytes.NewReader(content), int64(len(content)))
		return err
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if err := decodes(bad); !errors.Is(err, errState) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if err := decodes(good[:i]); !errors.Is(err, errState) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	le := binary.LittleEndian
	summed := func(length uint64, header string) []byte {
		b := le.AppendUint64(le.AppendUint64([]byte(stateMagic), stateVersion), length)
		b = append(b, header...)
		sum := sha256.Sum256(b)
		return append(b, sum[:]...)
	}
	for _, c := range []struct {
		content []byte
		text    string
	}{
		{nil, "it is not a state file"},
		{[]byte("FLOWSTAT"), "it is not a state file"},
		{append([]byte("FLOWSNAP"), good[8:]...), "it is not a state file"},
		{append(le.AppendUint64([]byte(stateMagic), 1), good[16:]...), "it has version 1, and this program reads version 5"},
		{append(bytes.Clone(good), 0), "it is damaged"},
		{summed(3, "{}"), "it is damaged"},
		{summed(1<<63, "{}"), "it is damaged"},
		{summed(1<<64-1, "{}"), "it is damaged"},
		{summed(1, "{}"), "unexpected end of JSON"},
		{summed(2, "[]"), "cannot unmarshal"},
		{summed(2, "{}"), ""},
	} {
		err := decodes(c.content)
		if c.text == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, errState) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v, want %q", c.content, err, c.text)
		}
	}
}

// TestSettings checks that runs on other packets have other settings.
func TestSettings(t *testing.T) {
	plain := config{}
	h := &stateHeader{Settings: plain.settings(), Secret: make([]byte, len(engine.Secret{}))}
	if err := h.fits(plain.settings(), nil); err != nil {
		t.Fatal(err)
	}
	one, other := []bpf.RawInstruction{{Op: 6, K: 1}}, []bpf.RawInstruction{{Op: 6, K: 11}}
	if programSum(one) == programSum(other) || programSum(one) != programSum(slices.Clone(one)) {
		t.Error("sums of programs")
	}
	landmark := config{Dedup: dedup.Config{Window: window.Window{Duration: time.Hour, Landmark: true}}}
	landmark.Distinct.Calendar.Location = time.UTC
	told, err := headers.ParseTunnels("10800=vxlan,5=vxlan")
	if err != nil {
		t.Fatal(err)
	}
	inUTC := &stateHeader{Settings: landmark.settings(), Secret: h.Secret}
	landmark.Distinct.Calendar.Location = time.FixedZone("Elsewhere", 3600)
	if err := inUTC.fits(landmark.settings(), nil); !errors.Is(err, errState) || !strings.Contains(err.Error(), "it was saved with --tz UTC, and this run has Elsewhere") {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(c *config)
		text   string
	}{
		{func(c *config) { c.Filter.Expr = "tcp port 443" }, "it was saved with --filter none, and this run has tcp port 443"},
		{func(c *config) { c.Filter.Program = one }, "it was saved with --bpf-file none, and this run has " + programSum(one)},
		{func(c *config) { c.Dedup.Params = method.Params{"P": 2, "K": 3} }, "it was saved with --method none, and this run has  --param K=3,P=2"},
		{func(c *config) { c.Dedup.Within = []string{"vlan", "interface"} }, "it was saved with --within none, and this run has vlan,interface"},
		{func(c *config) { c.Dedup.Only = []input.Condition{{Interface: "a"}, {Interface: "b"}} }, "it was saved with --only none, and this run has interface a, or interface b"},
		{func(c *config) {
			c.Dedup.Window, _ = window.Parse("landmark:1h")
			c.Distinct.Calendar.Location = time.UTC
		}, "this run has landmark:1h"},
		{func(c *config) { c.Dedup.Identity.Tunnels = told }, "it was saved with --tunnel none, and this run has 5=vxlan,10800=vxlan"},
		{func(c *config) { c.Dedup.Verify = 4096 }, "it was saved with --verify-copies none, and this run has 4096"},
		{func(c *config) { c.Ring.SnapLen = 96 }, "it was saved with --snaplen 0, and this run has 96"},
		{func(c *config) { c.Inputs = []string{"a", "b"} }, "it was saved with -i none, and this run has a, b"},
	} {
		var changed config
		c.change(&changed)
		if err := h.fits(changed.settings(), nil); !errors.Is(err, errState) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
}

// TestStateFits checks that the settings must be the same, and the key if one was given.
func TestStateFits(t *testing.T) {
	own, others := engine.Secret{1}, engine.Secret{2}
	settings := func(values ...string) (all []setting) {
		for i, v := range values {
			all = append(all, setting{[]string{"--window", "--of", "-i"}[i], v})
		}
		return all
	}
	for _, c := range []struct {
		name        string
		saved, want []setting
		secret      []byte // in the file
		given       *engine.Secret
		text        string
	}{
		{"the same", settings("1ms", ""), settings("1ms", ""), own[:], nil, ""},
		{"the same key", settings("1ms"), settings("1ms"), own[:], &own, ""},
		{"both with a key", settings("1ms"), settings("1ms"), nil, &others, ""}, // snapshots detect it
		{"another window", settings("1ms"), settings("2ms"), own[:], nil, "it was saved with --window 1ms, and this run has 2ms"},
		{"counts", settings("1ms", "src"), settings("1ms", ""), own[:], nil, "it was saved with --of src, and this run has none"},
		{"no counts", settings("1ms", ""), settings("1ms", "src"), own[:], nil, "it was saved with --of none, and this run has src"},
		{"a new flag", settings("1ms"), settings("1ms", "src"), own[:], nil, "it was saved with --of none, and this run has src"},
		{"a new flag without a value", settings("1ms"), settings("1ms", ""), own[:], nil, ""},
		{"a flag that is no more", settings("1ms", "src"), settings("1ms"), own[:], nil, "it is from another kind of run"},
		{"other settings", []setting{{"--refresh", "1ms"}}, settings("1ms"), own[:], nil, "it is from another kind of run"},
		{"another key", settings("1ms"), settings("1ms"), own[:], &others, "it was saved with another --key"},
		{"without the key", settings("1ms"), settings("1ms"), nil, nil, "it was saved with --key: give the same key"},
		{"half a key", settings("1ms"), settings("1ms"), own[:9], nil, "it is damaged"},
	} {
		h := &stateHeader{Settings: c.saved, Secret: c.secret}
		err := h.fits(c.want, c.given)
		if c.text == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, errState) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}
