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
	"time"
)

var snapshotSecret = Secret{1, 2, 3}

const snapshotLabel = "flow, aes"

// snapshotRestore accepts what snapshotOf gives.
func snapshotRestore() RestoreConfig {
	return RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel}
}

// snapshotter is any filter that snapshots can be made of.
type snapshotter interface {
	Snapshot(w io.Writer, secret Secret, label string) error
	Close() error
}

// restorers are the functions that read snapshots, by kind.
var restorers = map[snapshotKind]func(r io.Reader, c RestoreConfig) (snapshotter, error){
	snapshotStream:     func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreStream(r, c)) },
	snapshotTimed:      func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreTimed(r, c)) },
	snapshotExactV4:    func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreExactV4(r, c)) },
	snapshotLandmark:   func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreLandmark(r, c)) },
	snapshotDigestRows: func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreDigestRows(r, c)) },
	snapshotTimers:     func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreTimers(r, c)) },
	snapshotSliding:    func(r io.Reader, c RestoreConfig) (snapshotter, error) { return restored(RestoreSliding(r, c)) },
}

// restored keeps a nil filter from becoming an interface that is not nil.
func restored[F snapshotter](f F, err error) (snapshotter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func snapshotOf(t testing.TB, s snapshotter) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Snapshot(&b, snapshotSecret, snapshotLabel); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// restart returns the filter that is restored from a snapshot of s.
func restart[F snapshotter](t *testing.T, s F, kind snapshotKind) F {
	t.Helper()
	again, err := restorers[kind](bytes.NewReader(snapshotOf(t, s)), snapshotRestore())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	return again.(F)
}

// snapshotFilters returns a small filter of each kind, after some work.
func snapshotFilters(t testing.TB) map[snapshotKind]snapshotter {
	digests := landmarkDigests(51, 3000)
	stream := mustStream(t, StreamConfig{Method: "sbf", Memory: 6400})
	streamVerdicts(stream, digests, constant(1000))
	timed := newTimed(t, TimedConfig{Window: Window{Duration: time.Millisecond}, Memory: 6400})
	randomPackets(52, 1000, clocks(100_000)["in order"]).verdicts(timed, 100)
	timers := newTimers(t, TimersConfig{Window: Window{Duration: time.Millisecond}, Memory: 6400})
	randomPackets(57, 1000, clocks(100_000)["in order"]).verdicts(timers, 100)
	exact := newSnapshotExactV4(t)
	exact.TestAndSet(make([]uint64, 64), aimed(2000))
	landmark := newLandmark(t, LandmarkConfig{FPR: 0.1, Memory: 1})
	feed(landmark, digests, 100)
	rows := newDigestRows(t, 0)
	feed(rows, digests, 100)
	sliding := mustSliding(t, SlidingConfig{Window: time.Second})
	sliding.TestAndSet(nil, digests, steady(len(digests), time.Millisecond))
	return map[snapshotKind]snapshotter{
		snapshotStream: stream, snapshotTimed: timed, snapshotExactV4: exact, snapshotLandmark: landmark,
		snapshotDigestRows: rows, snapshotSliding: sliding, snapshotTimers: timers,
	}
}

func newSnapshotExactV4(t testing.TB) *ExactV4 {
	t.Helper()
	e, err := NewExactV4(snapshotSecret.AESKey(KeyBijection), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// The other filters too go on as if nothing had happened.
func TestTimedSnapshot(t *testing.T) {
	for _, text := range []string{"1ms", "999999937ns", "n:70", "none"} {
		eachMode(t, func(t *testing.T, refresh, across bool) {
			cfg := TimedConfig{Window: window(t, text), Memory: 1600, Refresh: refresh, Across: across, FPR: 3e-11}
			s := randomPackets(53, 6000, clocks(100_000)["jumps"])
			whole, cut := newTimed(t, cfg), newTimed(t, cfg)
			want := s.verdicts(whole, 1000)
			rng := rand.New(rand.NewPCG(54, 54))
			for at := 0; at < len(want); {
				to := min(at+rng.IntN(2000), len(want))
				part := &packetStream{s.digests[at:to], s.times[at:to], s.points[at:to]}
				if !slices.Equal(part.verdicts(cut, 300), want[at:to]) {
					t.Fatalf("%s: other verdicts from %d on", text, at)
				}
				at = to
				cut = restart(t, cut, snapshotTimed)
			}
			if cut.Stats() != whole.Stats() {
				t.Errorf("%s: %+v, want %+v", text, cut.Stats(), whole.Stats())
			}
		})
	}
}

func TestExactV4Snapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 55))
	addrs := aimed(3000)
	for range 20_000 {
		addrs = append(addrs, rng.Uint32N(15_000)*0x9e3779b1)
	}
	whole, cut := newSnapshotExactV4(t), newSnapshotExactV4(t)
	checkRestarts(t, whole, cut, snapshotExactV4, addrs)
	if len(whole.table.spilled.words()) == 0 || len(whole.table.arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
	}
}

func TestDigestRowsSnapshot(t *testing.T) {
	digests := append(oneLine(3000)[2:], landmarkDigests(57, 20_000)...)
	digests = append(digests, digests[:5000]...)
	whole, cut := newDigestRows(t, 0), newDigestRows(t, 0)
	checkRestarts(t, whole, cut, snapshotDigestRows, digests)
	if len(whole.table.spilled.words()) == 0 || len(whole.table.arena.Lines()) == whole.first {
		t.Error("nothing spilled, or nothing grew: that tests nothing")
	}
}

func TestLandmarkSnapshot(t *testing.T) {
	digests := landmarkDigests(56, 10_000)
	digests = append(digests, digests[:5000]...)
	for _, fpr := range []float64{0.1, 1e-9} {
		cfg := LandmarkConfig{FPR: fpr, Memory: 1}
		whole, cut := newLandmark(t, cfg), newLandmark(t, cfg)
		checkRestarts(t, whole, cut, snapshotLandmark, digests)
		if len(whole.filters) < 3 {
			t.Errorf("%d sub-filters test nothing", len(whole.filters))
		}
	}
}

// checkRestarts compares a counter with one that is restored now and then.
func checkRestarts[K comparable, C interface {
	Counter[K]
	snapshotter
}](t *testing.T, whole, cut C, kind snapshotKind, keys []K) {
	t.Helper()
	rng := rand.New(rand.NewPCG(57, 57))
	for at := 0; at < len(keys); {
		part := keys[at:min(at+rng.IntN(4000), len(keys))]
		want, got := make([]uint64, len(part)/64+1), make([]uint64, len(part)/64+1)
		whole.TestAndSet(want, part)
		cut.TestAndSet(got, part)
		if !slices.Equal(got, want) {
			t.Fatalf("other verdicts from %d on", at)
		}
		at += len(part)
		cut = restart(t, cut, kind)
		got2, want2 := cut.Counts(), whole.Counts()
		if got2 != want2 {
			t.Fatalf("after %d: %+v, want %+v", at, got2, want2)
		}
	}
}

// Snapshots of each kind are refused wherever they are cut or changed, and where they
// are of another kind or key.
func TestRestoreDamaged(t *testing.T) {
	for kind, f := range snapshotFilters(t) {
		data := snapshotOf(t, f)
		restore := func(data []byte, kind snapshotKind, secret Secret) error {
			r, err := restorers[kind](bytes.NewReader(data), RestoreConfig{Secret: secret, Label: snapshotLabel})
			if err == nil {
				r.Close()
			}
			return err
		}
		step := len(data)/400 + 1
		for at := 0; at < len(data); at += step {
			if err := restore(data[:at], kind, snapshotSecret); !errors.Is(err, ErrSnapshot) {
				t.Fatalf("kind %d cut after %d of %d bytes: %v", kind, at, len(data), err)
			}
			damaged := slices.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			if err := restore(damaged, kind, snapshotSecret); !errors.Is(err, ErrSnapshot) {
				t.Fatalf("kind %d, byte %d of %d changed: %v", kind, at, len(data), err)
			}
		}
		for other := range restorers {
			if err := restore(data, other, snapshotSecret); (err == nil) != (other == kind) || err != nil && !strings.Contains(err.Error(), "kind") {
				t.Errorf("kind %d as %d: %v", kind, other, err)
			}
		}
		if err := restore(data, kind, Secret{}); !errors.Is(err, ErrSnapshot) || !strings.Contains(err.Error(), "another key") {
			t.Errorf("kind %d with another key: %v", kind, err)
		}
		if _, err := restorers[kind](bytes.NewReader(data), RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel, Memory: 64}); !errors.Is(err, ErrMemory) {
			t.Errorf("kind %d with memory of a line: %v", kind, err)
		}
	}
}

// A filter of other elements is not resumed, and labels are stored as they are, or not.
func TestSnapshotLabel(t *testing.T) {
	for kind, f := range snapshotFilters(t) {
		long := strings.Repeat("l", MaxLabel)
		for _, c := range []struct {
			written, wanted string
			says            string
		}{
			{"", "", ""}, {"src", "src", ""}, {long, long, ""},
			{"flow", "src", `of elements labelled "flow", must be "src"`},
			{"", "src", `labelled "", must be "src"`},
			{long, long[1:], "must be"},
			{"src", long + "l", "at most 64 bytes"},
			{"src", "src\x00", "none of them 0"},
		} {
			var b bytes.Buffer
			if err := f.Snapshot(&b, snapshotSecret, c.written); err != nil {
				t.Fatal(err)
			}
			r, err := restorers[kind](&b, RestoreConfig{Secret: snapshotSecret, Label: c.wanted})
			switch {
			case err == nil && c.says == "":
				r.Close()
			case err == nil || c.says == "" || !errors.Is(err, ErrSnapshot) || !strings.Contains(err.Error(), c.says):
				t.Errorf("kind %d, %q as %q: %v, want %q", kind, c.written, c.wanted, err, c.says)
			}
		}
		var b bytes.Buffer
		if err := f.Snapshot(&b, snapshotSecret, long+"l"); !errors.Is(err, ErrSnapshot) || b.Len() > 0 {
			t.Errorf("kind %d, a long label: %v, %d bytes written", kind, err, b.Len())
		}
	}
}

// A counter of another secret's permutation is not restored under this one.
func TestRestoreExactV4Permutation(t *testing.T) {
	e, err := NewExactV4([16]byte{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := RestoreExactV4(bytes.NewReader(snapshotOf(t, e)), snapshotRestore()); !errors.Is(err, ErrSnapshot) {
		t.Errorf("%v", err)
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
	for kind, f := range snapshotFilters(t) {
		size := len(snapshotOf(t, f))
		for _, room := range []int{0, 8, snapshotHead - 1, snapshotHead, 300, size / 2, size - 16, size - 1, size} {
			disk := fullDisk(room)
			if err := f.Snapshot(&disk, snapshotSecret, snapshotLabel); (err != nil) != (room < size) || err != nil && !errors.Is(err, errFull) {
				t.Errorf("kind %d, %d bytes of room for %d: %v", kind, room, size, err)
			}
		}
	}
}

// sealAgain puts seals that fit into a snapshot that was changed, as one who has the
// secret can.
func sealAgain(data []byte) []byte {
	if len(data) < snapshotHead {
		return data
	}
	data = slices.Clone(data)
	count := binary.LittleEndian.Uint64(data[snapshotHead-8:])
	head := snapshotHead + 8*min(count, 1000)
	if uint64(len(data)) < head+32 {
		return data
	}
	seal := newSeal(snapshotSecret)
	seal.Write(data[:head])
	copy(data[head:], seal.Sum(nil))
	seal.Write(data[head:][:16])
	rest := data[head+16:]
	seal.Write(rest[:len(rest)-16])
	copy(rest[len(rest)-16:], seal.Sum(nil))
	return data
}

// changed returns a copy of a snapshot with another word.
func changed(data []byte, word int, to uint64) []byte {
	data = slices.Clone(data)
	binary.LittleEndian.PutUint64(data[8*word:], to)
	return data
}

// FuzzRestore takes snapshots that are sealed as they must be: an error is one of those
// announced, and a filter that is restored works and gives a snapshot of the same kind and size. (What
// follows a snapshot in the data stays unread.)
func FuzzRestore(f *testing.F) {
	filters := snapshotFilters(f)
	for kind := snapshotStream; kind <= snapshotSliding; kind++ {
		f.Add(snapshotOf(f, filters[kind]))
	}
	for _, c := range streamConfigs() {
		c.Memory = 192
		s := mustStream(f, c)
		streamVerdicts(s, repeating(14, 100), constant(100))
		f.Add(snapshotOf(f, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < snapshotHead {
			return
		}
		restore := restorers[snapshotKind(binary.LittleEndian.Uint64(data[16:]))]
		if restore == nil {
			return
		}
		data = sealAgain(data)
		s, err := restore(bytes.NewReader(data), RestoreConfig{Secret: snapshotSecret, Label: snapshotLabel, Memory: 1 << 16})
		if err != nil {
			if !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrMemory) && !errors.Is(err, ErrStream) {
				t.Errorf("%v: unexpected kind of error", err)
			}
			return
		}
		defer s.Close()
		if again := snapshotOf(t, s); len(again) > len(data) || !bytes.Equal(again[:snapshotHead], data[:snapshotHead]) {
			t.Errorf("a snapshot of %d bytes, it was %d at most", len(again), len(data))
		}
		useRestored(s)
	})
}

// useRestored makes a filter work.
func useRestored(s snapshotter) {
	digests := repeating(15, 2000)
	seen := make([]uint64, len(digests)/64+1)
	switch s := s.(type) {
	case *Stream:
		s.TestAndSet(seen, digests)
		s.Stats()
	case *Timed:
		times, points := make([]int64, len(digests)), make([]uint32, len(digests))
		for i := range times {
			times[i] = int64(digests[i][0] >> 20)
		}
		s.TestAndSet(seen, digests, times, points)
		s.Stats()
	case *ExactV4:
		s.TestAndSet(seen, aimed(2000))
		s.Counts()
	case *Landmark:
		s.TestAndSet(seen, digests)
		s.Counts()
	case *Sliding:
		s.Count(slidingBegin)
		s.TestAndSet(seen, digests, steady(len(digests), time.Millisecond))
		s.Count(slidingBegin)
	}
}
