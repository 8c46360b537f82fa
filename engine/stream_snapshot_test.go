package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/layout"
)

var snapshotSecret = Secret{1, 2, 3}

func snapshotOf(t testing.TB, s *Stream) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Snapshot(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A stream that is cut at random places, with the filter written and restored at
// each, has the verdicts, memory and statistics of the stream that runs through.
func TestStreamSnapshot(t *testing.T) {
	digests := repeating(11, 40_000)
	forStreams(t, 100, func(t *testing.T, c StreamConfig) {
		c.Secret = snapshotSecret
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
			restored, err := RestoreStream(bytes.NewReader(snapshotOf(t, s)), RestoreConfig{Secret: snapshotSecret, Workers: 1 + rng.IntN(5)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { restored.Close() })
			s = restored
		}
		if !slices.Equal(s.arena.Lines(), whole.arena.Lines()) {
			t.Error("other memory")
		}
		got, stats := s.Stats(), whole.Stats()
		got.MemoryBytes = stats.MemoryBytes
		if got != stats {
			t.Errorf("%+v, want %+v", got, stats)
		}
	})
}

// A snapshot ends where it ends: what follows stays for the next reader.
func TestSnapshotsInARow(t *testing.T) {
	s := mustStream(t, StreamConfig{Memory: 6400, Secret: snapshotSecret})
	data := snapshotOf(t, s)
	r := iotest.OneByteReader(io.MultiReader(bytes.NewReader(data), bytes.NewReader(data), strings.NewReader("rest")))
	for range 2 {
		restored, err := RestoreStream(r, RestoreConfig{Secret: snapshotSecret})
		if err != nil {
			t.Fatal(err)
		}
		restored.Close()
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "rest" {
		t.Errorf("%q is left, %v", rest, err)
	}
}

// sealAgain puts seals that fit into a snapshot of streams that was changed, as one who
// has the secret can.
func sealAgain(data []byte) []byte {
	const head = 48 + 8*streamFieldCount
	if len(data) < head+32 {
		return data
	}
	data = slices.Clone(data)
	seal := newSeal(snapshotSecret)
	seal.Write(data[:head])
	copy(data[head:], seal.Sum(nil))
	seal.Write(data[head : len(data)-16])
	copy(data[len(data)-16:], seal.Sum(nil))
	return data
}

// changed returns a copy of a snapshot with another word.
func changed(data []byte, word int, to uint64) []byte {
	data = slices.Clone(data)
	binary.LittleEndian.PutUint64(data[8*word:], to)
	return data
}

func TestRestoreRefuses(t *testing.T) {
	s := mustStream(t, StreamConfig{Method: "sbf", Memory: 6400, Secret: snapshotSecret})
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
		{"newer", changed(data, 1, 2), ErrSnapshot, "version 2, this program reads version 1"},
		{"kind", changed(data, 2, 9), ErrSnapshot, "of kind 9"},
		{"key", changed(data, 3, 1), ErrSnapshot, "another key"},
		{"count", changed(data, 5, 1<<60), ErrSnapshot, "1152921504606846976 fields, must be 10"},
		{"field", changed(data, 11, 1<<30), ErrSnapshot, "header is damaged"},
		{"lines", flipped, ErrSnapshot, "lines is damaged"},
		{"header cut", data[:60], ErrSnapshot, "ends in its header"},
		{"lines cut", data[:len(data)-100], ErrSnapshot, "ends in its lines"},
		{"seal cut", data[:len(data)-1], ErrSnapshot, "ends in its seal of the lines"},
		{"method", sealAgain(changed(data, 6, 8)), ErrSnapshot, "method is 8"},
		{"shape", sealAgain(changed(data, 7, 1)), ErrSnapshot, "do not belong together"},
		{"K", sealAgain(changed(data, 8, 5)), ErrSnapshot, "K is 5"},
		{"K 0", sealAgain(changed(data, 8, 0)), ErrSnapshot, "do not belong together"},
		{"P", sealAgain(changed(data, 9, 65)), ErrSnapshot, "P is 65"},
		{"Max", sealAgain(changed(data, 10, 2)), ErrSnapshot, "Max is 2"},
		{"no lines", sealAgain(changed(data, 11, 0)), ErrSnapshot, "0 bytes"},
		{"many lines", sealAgain(changed(data, 11, 1<<31)), ErrMemory, "takes 137438953472 bytes, at most 268435456"},
		{"too many lines", sealAgain(changed(data, 11, 1<<62)), ErrSnapshot, "number of lines"},
		{"more lines", sealAgain(changed(data, 11, 101)), ErrSnapshot, "ends in its"},
		{"seen", sealAgain(changed(data, 13, 3001)), ErrSnapshot, "seen elements is 3001"},
		{"occupied", sealAgain(changed(data, 14, 1<<20)), ErrSnapshot, "do not belong together"},
		{"evicted", sealAgain(changed(data, 15, 1<<63)), ErrSnapshot, "evictions"},
	} {
		r, err := RestoreStream(bytes.NewReader(c.data), RestoreConfig{Secret: snapshotSecret})
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	for name, c := range map[string]RestoreConfig{
		"another key": {Secret: Secret{9}},
		"too large":   {Secret: snapshotSecret, Memory: 6399},
		"101 workers": {Secret: snapshotSecret, Workers: 101},
	} {
		if _, err := RestoreStream(bytes.NewReader(data), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	broken := io.MultiReader(bytes.NewReader(data[:200]), iotest.ErrReader(failing))
	if _, err := RestoreStream(broken, RestoreConfig{Secret: snapshotSecret}); !errors.Is(err, failing) || errors.Is(err, ErrSnapshot) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// fullDisk takes so many bytes.
type fullDisk int

var errFull = errors.New("disk full")

func (d *fullDisk) Write(b []byte) (int, error) {
	if *d -= fullDisk(len(b)); *d < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestSnapshotToFullDisk(t *testing.T) {
	s := mustStream(t, StreamConfig{Memory: 6400})
	size := len(snapshotOf(t, s))
	for room := 0; room <= size; room += 8 {
		disk := fullDisk(room)
		if err := s.Snapshot(&disk); (err != nil) != (room < size) || err != nil && !errors.Is(err, errFull) {
			t.Fatalf("%d bytes of room for %d: %v", room, size, err)
		}
	}
}

// FuzzRestoreStream takes snapshots that are sealed as they must be: an error is one
// of those announced, and a filter that is restored works and gives the same snapshot.
func FuzzRestoreStream(f *testing.F) {
	for _, c := range streamConfigs() {
		c.Memory, c.Secret = 3*layout.LineSize, snapshotSecret
		s := mustStream(f, c)
		streamVerdicts(s, repeating(14, 100), constant(100))
		f.Add(snapshotOf(f, s))
	}
	digests := repeating(15, 500)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealAgain(data)
		s, err := RestoreStream(bytes.NewReader(data), RestoreConfig{Secret: snapshotSecret, Memory: 1 << 16})
		if err != nil {
			if !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrMemory) {
				t.Errorf("%v wraps neither ErrSnapshot nor ErrMemory", err)
			}
			return
		}
		defer s.Close()
		if again := snapshotOf(t, s); !bytes.Equal(again, data[:len(again)]) {
			t.Error("another snapshot")
		}
		streamVerdicts(s, digests, constant(100))
		if st := s.Stats(); st.FPR < 0 || st.FPR > 1 {
			t.Errorf("%+v", st)
		}
	})
}
