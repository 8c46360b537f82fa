// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// New makes a filter, which is closed at the end of the test.
func New[C any, F io.Closer](t testing.TB, create func(C) (F, error), c C) F {
	t.Helper()
	f, err := create(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// Refused is a configuration that cannot be: the error wraps Is, and contains Says.
type Refused[C any] = struct {
	Config C
	Is     error
	Says   string
}

// Refuses wants create to refuse all of the configurations.
func Refuses[C, F any](t *testing.T, create func(C) (F, error), all []Refused[C]) {
	t.Helper()
	for _, c := range all {
		if _, err := create(c.Config); !errors.Is(err, c.Is) || !strings.Contains(err.Error(), c.Says) {
			t.Errorf("%+v: error %v, want %v and %q", c.Config, err, c.Is, c.Says)
		}
	}
}

// Panics wants call to panic.
func Panics(t *testing.T, what string, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	call()
}

// PacketKind is a kind of packet filter F, which a C configures.
type PacketKind[C any, F engine.PacketFilter] struct {
	New     func(C) (F, error)
	Refused []Refused[C]
	// Slices is how many slices filters of Small read, of verdicts, times and points.
	Slices int
	// Small takes little memory, so that a fuzzer may read it often.
	Small C
	// Hostile are windows of time, for times from all of an int64.
	Hostile []C
	// Batches are for streams that are cut into calls.
	Batches []C
	// Memory returns the lines of a filter, which calls must not change either.
	Memory func(F) [][8]uint64
}

// Test checks the properties of all packet filters.
func (k PacketKind[C, F]) Test(t *testing.T) {
	Refuses(t, k.New, k.Refused)
	t.Run("panics", k.panics)
	t.Run("closed", k.closed)
	for _, c := range k.Hostile {
		t.Run("hostile", func(t *testing.T) { k.hostile(t, c) })
	}
	for _, c := range k.Batches {
		t.Run(fmt.Sprintf("batches/%+v", c), func(t *testing.T) { k.batches(t, c) })
	}
}

// panics wants slices refused that are too short.
func (k PacketKind[C, F]) panics(t *testing.T) {
	f, d := New(t, k.New, k.Small), make([]digest.Digest, 1)
	seen, times, points := make([]uint64, 1), make([]int64, 1), make([]uint32, 1)
	for i, call := range []func(){
		func() { f.TestAndSet(nil, d, times, points) },
		func() { f.TestAndSet(seen, d, nil, points) },
		func() { f.TestAndSet(seen, d, times, nil) },
	}[:k.Slices] {
		Panics(t, [...]string{"seen", "times", "points"}[i], call)
	}
}

// closed wants calls that allocate nothing, and statistics that outlive the filter.
func (k PacketKind[C, F]) closed(t *testing.T) {
	f := New(t, k.New, k.Small)
	s := RandomPackets(18, 1000, Clocks(100_000)["in order"])
	s.Verdicts(f, 100)
	seen, before := make([]uint64, 16), f.Stats()
	if n := testing.AllocsPerRun(5, func() { f.TestAndSet(seen, s.Digests, s.Times, s.Points) }); n != 0 && before.Method != "exact" {
		t.Errorf("%v allocations a call", n)
	}
	before = f.Stats()
	if err := f.Close(); err != nil || f.Stats() != before {
		t.Errorf("after Close: %v, %+v, want %+v", err, f.Stats(), before)
	}
}

// HostilePackets has few elements, at times from all of an int64.
func HostilePackets() *Packets {
	ends := []int64{calendar.NoTime, math.MinInt64 + 1, math.MinInt64 + 2, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	rng, s := rand.New(rand.NewPCG(9, 9)), &Packets{}
	for range 4000 {
		d, at := rng.Uint64N(60), ends[rng.IntN(len(ends))]
		if rng.IntN(4) == 0 {
			at = int64(rng.Uint64())
		}
		s.Add(digest.Digest{d * 0x9e3779b97f4a7c15, d * 0xbf58476d1ce4e5b9}, at, rng.Uint32N(400))
	}
	return s
}

func (k PacketKind[C, F]) hostile(t *testing.T, c C) {
	f, s := New(t, k.New, c), HostilePackets()
	for i, isCopy := range s.Verdicts(f, 64) {
		if isCopy && s.Times[i] == calendar.NoTime {
			t.Errorf("%+v: packet %d without a time is a copy", c, i)
		}
	}
	f.Stats()
}

// batches cuts streams into calls of some sizes: verdicts, memory and statistics stay the
// same.
func (k PacketKind[C, F]) batches(t *testing.T, c C) {
	for name, n := range map[string]int{"in order": 6000, "out of order": 6000, "jumps": 70_000} {
		s, one := RandomPackets(12, n, Clocks(100_000)[name]), New(t, k.New, c)
		want := s.Verdicts(one, 1)
		for _, batch := range []int{7, 64, 700, 5000, n} {
			f := New(t, k.New, c)
			if !slices.Equal(s.Verdicts(f, batch), want) || f.Stats() != one.Stats() || k.Memory != nil && !slices.Equal(k.Memory(f), k.Memory(one)) {
				t.Errorf("%s, batches of %d: other verdicts or memory, or %+v, want %+v", name, batch, f.Stats(), one.Stats())
			}
		}
	}
}

// savedPackets is a packet filter that can be saved.
type savedPackets interface {
	engine.PacketFilter
	Snapshotter
}

// SavedPacketKind is a kind of packet filter that can be saved.
type SavedPacketKind[C any, F savedPackets] struct {
	PacketKind[C, F]
	Restore restorer[F]
	Cut     map[string]C // filters that are restored again and again
	Copied  map[string]C // filters that are copied while they go on
	Pinned  []Pinned[C]
}

// Pinned has the hash of the verdicts on a random stream of 20,000 packets, and the first
// digits of a hash of the snapshot after them. Both are the same on every CPU.
type Pinned[C any] = struct {
	Config                 C
	Clock, Verdicts, State string
}

// Test checks the properties of all packet filters that can be saved.
func (k SavedPacketKind[C, F]) Test(t *testing.T) {
	k.PacketKind.Test(t)
	for _, name := range slices.Sorted(maps.Keys(k.Cut)) {
		t.Run("cut/"+name, func(t *testing.T) { k.goesOn(t, k.Cut[name]) })
	}
	t.Run("damaged", func(t *testing.T) { Restore(t, k.working(t), k.Restore) })
	for _, name := range slices.Sorted(maps.Keys(k.Copied)) {
		t.Run("copied/"+name, func(t *testing.T) { PacketCopies(t, New(t, k.New, k.Copied[name])) })
	}
	for _, p := range k.Pinned {
		f, h := New(t, k.New, p.Config), fnv.New32a()
		fmt.Fprint(h, RandomPackets(82, 20_000, Clocks(100_000)[p.Clock]).Verdicts(f, 100), f.Stats().EvictedLive)
		if got := fmt.Sprintf("%08x", h.Sum32()); got != p.Verdicts {
			t.Errorf("%+v: the verdicts are %s, they were %s", p.Config, got, p.Verdicts)
		}
		State(t, fmt.Sprintf("%+v", p.Config), f, p.State)
	}
}

// working returns a small filter, after some work.
func (k SavedPacketKind[C, F]) working(t testing.TB) F {
	f := New(t, k.New, k.Small)
	RandomPackets(52, 1000, Clocks(100_000)["in order"]).Verdicts(f, 100)
	return f
}

// goesOn wants a filter that is restored, between calls of any sizes, to go on as if nothing
// had happened.
func (k SavedPacketKind[C, F]) goesOn(t *testing.T, c C) {
	for name, clock := range Clocks(100_000) {
		s, whole, cut := RandomPackets(53, 6000, clock), New(t, k.New, c), New(t, k.New, c)
		want, rng := s.Verdicts(whole, 1000), rand.New(rand.NewPCG(54, 54))
		for at := 0; at < len(want); {
			to := min(at+rng.IntN(1500), len(want))
			if !slices.Equal(s.Part(at, to).Verdicts(cut, 1+rng.IntN(1000)), want[at:to]) {
				t.Fatalf("%s: other verdicts from %d on", name, at)
			}
			at, cut = to, Restart(t, cut, k.Restore)
		}
		if cut.Stats() != whole.Stats() || k.Memory != nil && !slices.Equal(k.Memory(cut), k.Memory(whole)) {
			t.Errorf("%s: other memory, or %+v, want %+v", name, cut.Stats(), whole.Stats())
		}
	}
}

// Fuzz reads snapshots of the kind.
func (k SavedPacketKind[C, F]) Fuzz(f *testing.F) {
	FuzzRestore(f, k.Restore, func(filter F) {
		s := RandomPackets(15, 2000, Clocks(1000)["jumps"])
		filter.TestAndSet(make([]uint64, len(s.Digests)/64+1), s.Digests, s.Times, s.Points)
		filter.Stats()
	}, k.working(f))
}
