package engine

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// A stream that is cut at random places, with the filter written and restored at
// each, has the verdicts, memory and statistics of the stream that runs through.
func TestStreamSnapshot(t *testing.T) {
	digests := repeating(11, 40_000)
	forStreams(t, 100, func(t *testing.T, c StreamConfig) {
		whole := mustStream(t, c)
		want := streamVerdicts(whole, digests, constant(1000))
		rng := rand.New(rand.NewPCG(12, 12))
		s := mustStream(t, c)
		for at := 0; at < len(digests); {
			n := min(rng.IntN(10_000), len(digests)-at)
			got := streamVerdicts(s, digests[at:at+n], constant(3000))
			for i := range n {
				if j := at + i; got[i/64]>>(i%64)&1 != want[j/64]>>(j%64)&1 {
					t.Fatalf("element %d has another verdict", j)
				}
			}
			at += n
			restored, err := RestoreStream(bytes.NewReader(snapshotOf(t, s)), RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { restored.Close() })
			s = restored
		}
		if !slices.Equal(s.arena.Lines(), whole.arena.Lines()) {
			t.Error("other memory")
		}
		if got, stats := s.Stats(), whole.Stats(); got != stats {
			t.Errorf("%+v, want %+v", got, stats)
		}
	})
}

// A snapshot ends where it ends: what follows stays for the next reader.
func TestSnapshotsInARow(t *testing.T) {
	s := mustStream(t, StreamConfig{Memory: 6400})
	data := snapshotOf(t, s)
	r := iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), bytes.NewReader(data), strings.NewReader("rest")))
	for range 2 {
		restored, err := RestoreStream(r, snapshotRestore())
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
	s := mustStream(t, StreamConfig{Method: "sbf", Memory: 6400})
	streamVerdicts(s, repeating(13, 3000), constant(1000))
	data := snapshotOf(t, s)
	flipped := slices.Clone(data)
	flipped[len(flipped)/2] ^= 4
	failing := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		data []byte
		is   error
		says string
	}{
		{"empty", nil, ErrSnapshot, "ends in its header"},
		{"foreign", bytes.Repeat([]byte("pcap"), 100), ErrSnapshot, "not a snapshot"},
		{"newer", changed(data, 1, 4), ErrSnapshot, "version 4, this program reads version 3"},
		{"kind", changed(data, 2, 9), ErrSnapshot, "kind 9"},
		{"key", changed(data, 3, 1), ErrSnapshot, "another key"},
		{"count", changed(data, 13, 1<<60), ErrSnapshot, "1152921504606846976 fields, must be from 10 to 10"},
		{"field", changed(data, 19, 1<<30), ErrSnapshot, "header is damaged"},
		{"lines", flipped, ErrSnapshot, "lines is damaged"},
		{"header cut", data[:60], ErrSnapshot, "ends in its header"},
		{"lines cut", data[:len(data)-100], ErrSnapshot, "ends in its lines"},
		{"seal cut", data[:len(data)-1], ErrSnapshot, "ends in its seal of the lines"},
		{"method", sealAgain(changed(data, 14, 8)), ErrSnapshot, "method is 8"},
		{"shape", sealAgain(changed(data, 15, 1)), ErrSnapshot, "do not belong together"},
		{"K", sealAgain(changed(data, 16, 5)), ErrSnapshot, "K is 5"},
		{"K 0", sealAgain(changed(data, 16, 0)), ErrSnapshot, "do not belong together"},
		{"P", sealAgain(changed(data, 17, 65)), ErrSnapshot, "P is 65"},
		{"Max", sealAgain(changed(data, 18, 2)), ErrSnapshot, "Max is 2"},
		{"no lines", sealAgain(changed(data, 19, 0)), ErrSnapshot, "0 bytes"},
		{"many lines", sealAgain(changed(data, 19, 1<<31)), ErrMemory, "2147483648 lines of 64 bytes, at most 268435456"},
		{"too many lines", sealAgain(changed(data, 19, 1<<62)), ErrSnapshot, "number of lines"},
		{"more lines", sealAgain(changed(data, 19, 5000)), ErrSnapshot, "ends in its"},
		{"seen", sealAgain(changed(data, 21, 3001)), ErrSnapshot, "seen elements is 3001"},
		{"occupied", sealAgain(changed(data, 22, 1<<20)), ErrSnapshot, "do not belong together"},
		{"bits of more lines", sealAgain(changed(data, 27, 1<<36)), ErrSnapshot, "more than 100 lines"},
		{"evicted", sealAgain(changed(data, 23, 1<<63)), ErrSnapshot, "evictions"},
	} {
		r, err := RestoreStream(bytes.NewReader(c.data), snapshotRestore())
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	for name, c := range map[string]struct {
		config RestoreConfig
		is     error
	}{
		"another key": {RestoreConfig{Secret: Secret{9}, Label: snapshotLabel}, ErrSnapshot},
		"too large":   {RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel, Memory: 6399}, ErrMemory},
		"no memory":   {RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel, Memory: -1}, ErrMemory},
	} {
		if _, err := RestoreStream(bytes.NewReader(data), c.config); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(data[:200]), iotest.ErrReader(failing))
	if _, err := RestoreStream(broken, snapshotRestore()); !errors.Is(err, failing) || errors.Is(err, ErrSnapshot) {
		t.Errorf("a reader that fails: %v", err)
	}
}
