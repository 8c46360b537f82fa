// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Reading a snapshot stops at its end: further bytes stay for the next reader.
func TestSnapshotsInARow(t *testing.T) {
	s := mustStream(t, Config{Memory: 6400})
	data := check.Saved(t, s)
	r := iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), bytes.NewReader(data), strings.NewReader("rest")))
	for range 2 {
		restored, err := Restore(r, check.SavedConfig)
		if err != nil {
			t.Fatal(err)
		}
		restored.Close()
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "rest" {
		t.Errorf("%q is left, %v", rest, err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := mustStream(t, Config{Method: "sbf", Memory: 6400})
	streamVerdicts(s, check.Repeating(13, 3000), constant(1000))
	data := check.Saved(t, s)
	flipped := slices.Clone(data)
	flipped[len(flipped)/2] ^= 4
	failing := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		data []byte
		is   error
		says string
	}{
		{"empty", nil, snapshot.ErrInvalid, "ends in its header"},
		{"foreign", bytes.Repeat([]byte("pcap"), 100), snapshot.ErrInvalid, "not a snapshot"},
		{"older", check.Changed(data, 1, 4), snapshot.ErrInvalid, "version 4, this program reads version 5"},
		{"kind", check.Changed(data, 2, 8), snapshot.ErrInvalid, "kind coarse"},
		{"key", check.Changed(data, 3, 1), snapshot.ErrInvalid, "another key"},
		{"count", check.Changed(data, 13, 1<<60), snapshot.ErrInvalid, "1152921504606846976 fields, must be 10"},
		{"field", check.Changed(data, 19, 1<<30), snapshot.ErrInvalid, "header is damaged"},
		{"lines", flipped, snapshot.ErrInvalid, "lines is damaged"},
		{"header cut", data[:60], snapshot.ErrInvalid, "ends in its header"},
		{"lines cut", data[:len(data)-100], snapshot.ErrInvalid, "ends in its lines"},
		{"seal cut", data[:len(data)-1], snapshot.ErrInvalid, "ends in its seal of the lines"},
		{"method", check.SealAgain(check.Changed(data, 14, 10)), snapshot.ErrInvalid, "method is 10"},
		{"shape", check.SealAgain(check.Changed(data, 15, 1)), snapshot.ErrInvalid, "do not belong together"},
		{"K", check.SealAgain(check.Changed(data, 16, 5)), snapshot.ErrInvalid, "K is 5"},
		{"K 0", check.SealAgain(check.Changed(data, 16, 0)), snapshot.ErrInvalid, "do not belong together"},
		{"P", check.SealAgain(check.Changed(data, 17, 65)), snapshot.ErrInvalid, "P is 65"},
		{"Max", check.SealAgain(check.Changed(data, 18, 2)), snapshot.ErrInvalid, "Max is 2"},
		{"no lines", check.SealAgain(check.Changed(data, 19, 0)), snapshot.ErrInvalid, "0 bytes"},
		{"many lines", check.SealAgain(check.Changed(data, 19, 1<<31)), engine.ErrMemory, "2147483648 lines of 64 bytes, at most 268435456"},
		{"too many lines", check.SealAgain(check.Changed(data, 19, 1<<62)), snapshot.ErrInvalid, "number of lines"},
		{"more lines", check.SealAgain(check.Changed(data, 19, 5000)), snapshot.ErrInvalid, "ends in its"},
		{"seen", check.SealAgain(check.Changed(data, 21, 3001)), snapshot.ErrInvalid, "seen elements is 3001"},
		{"occupied", check.SealAgain(check.Changed(data, 22, 1<<20)), snapshot.ErrInvalid, "do not belong together"},
		{"bits of more lines", check.SealAgain(check.Changed(data, 27, 1<<36)), snapshot.ErrInvalid, "more than 100 lines"},
		{"evicted", check.SealAgain(check.Changed(data, 23, 1<<63)), snapshot.ErrInvalid, "evictions"},
	} {
		r, err := Restore(bytes.NewReader(c.data), check.SavedConfig)
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	for name, c := range map[string]struct {
		config snapshot.RestoreConfig
		is     error
	}{
		"another key": {snapshot.RestoreConfig{Secret: engine.Secret{9}, Label: check.SavedLabel}, snapshot.ErrInvalid},
		"too large":   {snapshot.RestoreConfig{Secret: check.SavedSecret, Label: check.SavedLabel, Memory: 6399}, engine.ErrMemory},
		"no memory":   {snapshot.RestoreConfig{Secret: check.SavedSecret, Label: check.SavedLabel, Memory: -1}, engine.ErrMemory},
	} {
		if _, err := Restore(bytes.NewReader(data), c.config); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(data[:200]), iotest.ErrReader(failing))
	if _, err := Restore(broken, check.SavedConfig); !errors.Is(err, failing) || errors.Is(err, snapshot.ErrInvalid) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// TestSnapshotCopyAll copies several filters at once.
func TestSnapshotCopyAll(t *testing.T) {
	var all []check.Snapshotter
	for _, method := range Methods() {
		all = append(all, mustStream(t, Config{Method: method, Memory: 6400}))
	}
	check.CopyOf(t, all...)
}

// TestSnapshotCopyRoom wants room before it starts, uses it again, and lets filters go
// that are not copied to the end.
func TestSnapshotCopyRoom(t *testing.T) {
	var c snapshot.Copy
	if !c.Start() || !c.Copy(0) || len(check.Copied(t, &c)) > 0 {
		t.Error("an empty copy is not done at once")
	}
	f := mustStream(t, Config{Memory: 1 << 20})
	record := func() {
		if err := f.Snapshot(&c, check.SavedSecret, check.SavedLabel); err != nil {
			t.Fatal(err)
		}
	}
	record()
	if c.Start() {
		t.Error("started without room")
	}
	if err := c.Reserve(c.Lines(), check.Never); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if !c.Start() || c.Copy(0) {
			t.Error("not started, or done at once")
		}
		c.Reset()
		record()
	}
	if n := testing.AllocsPerRun(10, func() { c.Reserve(c.Lines(), check.Never) }); n > 0 {
		t.Error("other room for as much")
	}
	c.Reset()
	streamVerdicts(f, check.Digests(3, 1000), constant(1000)) // nothing is kept for a copy that is gone
	if err := f.Snapshot(&c, check.SavedSecret, string(make([]byte, snapshot.MaxLabel+1))); !errors.Is(err, snapshot.ErrInvalid) {
		t.Error("a label that is too long: ", err)
	}
	if err := errors.Join(f.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// TestSnapshotCopyWriter writes a copy while the filter goes on: for the race detector.
func TestSnapshotCopyWriter(t *testing.T) {
	f := mustStream(t, Config{Memory: 1 << 18})
	digests := check.Digests(4, 5000)
	want := check.Saved(t, f)
	var c snapshot.Copy
	defer c.Close()
	check.StartCopy(t, &c, f)
	for !c.Copy(0) {
	}
	written := make(chan []byte)
	go func() {
		var b bytes.Buffer
		c.WriteTo(&b)
		written <- b.Bytes()
	}()
	streamVerdicts(f, digests, constant(100))
	if !bytes.Equal(<-written, want) {
		t.Error("another copy")
	}
}

// TestSnapshotSparse checks that snapshots of filters with few elements are small.
func TestSnapshotSparse(t *testing.T) {
	f := mustStream(t, Config{Memory: 1<<20 + 64})
	for _, n := range []int{0, 10} {
		streamVerdicts(f, check.Digests(5, n), constant(100))
		data := check.Saved(t, f)
		if len(data) > 4000+64*n {
			t.Errorf("%d elements: %d bytes", n, len(data))
		}
		if again := check.Saved(t, check.Restart(t, f, Restore)); !bytes.Equal(again, data) {
			t.Errorf("%d elements: another snapshot", n)
		}
	}
}
