package engine

import (
	"bytes"
	"errors"
	"fmt"
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
			restored, err := RestoreStream(bytes.NewReader(saved(t, s)), RestoreConfig{Secret: savedSecret, Label: savedLabel})
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
	data := saved(t, s)
	r := iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), bytes.NewReader(data), strings.NewReader("rest")))
	for range 2 {
		restored, err := RestoreStream(r, savedConfig)
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
	data := saved(t, s)
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
		r, err := RestoreStream(bytes.NewReader(c.data), savedConfig)
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
		"another key": {RestoreConfig{Secret: Secret{9}, Label: savedLabel}, ErrSnapshot},
		"too large":   {RestoreConfig{Secret: savedSecret, Label: savedLabel, Memory: 6399}, ErrMemory},
		"no memory":   {RestoreConfig{Secret: savedSecret, Label: savedLabel, Memory: -1}, ErrMemory},
	} {
		if _, err := RestoreStream(bytes.NewReader(data), c.config); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(data[:200]), iotest.ErrReader(failing))
	if _, err := RestoreStream(broken, savedConfig); !errors.Is(err, failing) || errors.Is(err, ErrSnapshot) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// smallStream returns a small filter, after some work.
func smallStream(t testing.TB) *Stream {
	s := mustStream(t, StreamConfig{Method: "sbf", Memory: 6400})
	streamVerdicts(s, landmarkDigests(51, 3000), constant(1000))
	return s
}

func TestStreamRestore(t *testing.T) { checkRestore(t, smallStream(t), RestoreStream) }

func FuzzRestoreStream(f *testing.F) {
	filters := []*Stream{smallStream(f)}
	for _, c := range streamConfigs() {
		c.Memory = 192
		s := mustStream(f, c)
		streamVerdicts(s, repeating(14, 100), constant(100))
		filters = append(filters, s)
	}
	fuzzRestore(f, RestoreStream, func(s *Stream) {
		s.TestAndSet(make([]uint64, 32), repeating(15, 2000))
		s.Stats()
	}, filters...)
}

func TestStreamState(t *testing.T) {
	digests := repeating(81, 20_000)
	for _, c := range []struct {
		StreamConfig
		want string
	}{
		{StreamConfig{Method: "lru", Shape: "8x8"}, "542589ac47303b73"},
		{StreamConfig{Method: "qht", Shape: "4x16"}, "598e5ab118da25c9"},
		{StreamConfig{Method: "qqhtd", Shape: "8x64"}, "382f21721719a3e6"},
		{StreamConfig{Method: "sbf"}, "2b8146a3aa6fde6e"},
		{StreamConfig{Method: "sbf", K: 3, P: 10, Max: 3}, "c9529ecc0a542cf4"},
		{StreamConfig{Method: "rsbf"}, "26cc1ad84a29e74c"},
		{StreamConfig{Method: "bsbf", K: 3}, "5059913eef6438fe"},
		{StreamConfig{Method: "bsbfsd"}, "60fa561e1f86e239"},
		{StreamConfig{Method: "rlbsbf"}, "26a1c9f328d07ddd"},
	} {
		c.Memory = 6400
		s := mustStream(t, c.StreamConfig)
		streamVerdicts(s, digests, constant(1000))
		checkState(t, fmt.Sprintf("%s %s %d", c.Method, c.Shape, c.Max), s, c.want)
	}
}
