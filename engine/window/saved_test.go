// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// savedFilter is a packet filter that can be saved.
type savedFilter interface {
	engine.PacketFilter
	check.Snapshotter
}

// savedKind is a kind of filter F, which a C configures, for the tests of snapshots.
type savedKind[C any, F savedFilter] struct {
	make    func(testing.TB, C) F
	restore func(io.Reader, snapshot.RestoreConfig) (F, error)
	small   C            // whose memory a fuzzer may read often
	cut     map[string]C // filters that are restored again and again
	copied  map[string]C // filters that are copied while they go on
	states  []savedState[C]
}

// savedState is the start of a digest of a filter's snapshot after n packets of a random
// stream.
type savedState[C any] struct {
	config C
	seed   uint64
	n      int
	clock  string
	want   string
}

// Filters of more than one part of a copy, and of no whole words.
const copiedMemory = 1<<20 + 64

var oneMillisecond = Window{Duration: time.Millisecond}

func timedKind() savedKind[TimedConfig, *Timed] {
	cut := map[string]TimedConfig{}
	for _, w := range []Window{oneMillisecond, {Duration: 999_999_937}, {Packets: 70}, {None: true}} {
		for mode := range 4 {
			cfg := TimedConfig{Window: w, Memory: 1600, Refresh: mode&1 != 0, Across: mode&2 != 0, FPR: 5e-11}
			cut[fmt.Sprintf("%v, mode %d", w, mode)] = cfg
		}
	}
	state := func(w Window) TimedConfig { return TimedConfig{Window: w, Memory: 6400, Across: true} }
	return savedKind[TimedConfig, *Timed]{
		make: newTimed, restore: RestoreTimed, small: TimedConfig{Window: oneMillisecond, Memory: 6400}, cut: cut,
		copied: map[string]TimedConfig{
			"across":  {Window: Window{Duration: time.Second}, Memory: copiedMemory, Across: true},
			"growing": {Window: Window{Duration: time.Hour}, Memory: copiedMemory, Limit: 64 << 20},
			"count":   {Window: Window{Packets: 5000}, Memory: copiedMemory},
		},
		states: []savedState[TimedConfig]{
			{state(oneMillisecond), 82, 20_000, "in order", "4be702f7f92061cf"},
			{state(Window{Duration: 999_999_937}), 82, 20_000, "jumps", "6c59001ee80e43bf"},
			{state(Window{Packets: 70}), 82, 20_000, "in order", "25227b4c3afed5fb"},
			{state(Window{None: true}), 82, 20_000, "in order", "3987d7d9f6ae7d2d"},
		},
	}
}

// coarseKind has some filters that are restored in the middle of growing.
func coarseKind(fine bool) savedKind[CoarseConfig, *Coarse] {
	cut := map[string]CoarseConfig{}
	for _, w := range []Window{oneMillisecond, {Duration: 999_999_937}, {Packets: 700}} {
		for mode := range 4 {
			cfg := CoarseConfig{Window: w, Fine: fine, Memory: 1600, Refresh: mode&1 != 0, Limit: mode / 2 << 20}
			cut[fmt.Sprintf("%v, mode %d", w, mode)] = cfg
		}
	}
	kind := savedKind[CoarseConfig, *Coarse]{
		make: newCoarse, restore: RestoreCoarse, cut: cut,
		small:  CoarseConfig{Window: oneMillisecond, Fine: fine, Memory: 6400, Limit: 1 << 20},
		copied: map[string]CoarseConfig{"one second": {Window: Window{Duration: time.Second}, Fine: fine, Memory: copiedMemory}},
	}
	if fine {
		kind.restore = RestoreFine
		return kind
	}
	kind.states = []savedState[CoarseConfig]{
		{CoarseConfig{Window: oneMillisecond, Memory: 6400}, 82, 20_000, "jumps", "bfdab3ebdf69da24"},
	}
	return kind
}

func timersKind() savedKind[TimersConfig, *Timers] {
	small := TimersConfig{Window: oneMillisecond, Memory: 6400}
	return savedKind[TimersConfig, *Timers]{
		make: newTimers, restore: RestoreTimers, small: small,
		cut:    map[string]TimersConfig{"1ms": {Window: oneMillisecond, Memory: 1600}},
		copied: map[string]TimersConfig{"one second": {Window: Window{Duration: time.Second}, Memory: copiedMemory}},
		states: []savedState[TimersConfig]{{small, 57, 1000, "in order", "e4cb17005023fa1e"}},
	}
}

func TestSavedTimed(t *testing.T)  { timedKind().test(t) }
func TestSavedCoarse(t *testing.T) { coarseKind(false).test(t) }
func TestSavedFine(t *testing.T)   { coarseKind(true).test(t) }
func TestSavedTimers(t *testing.T) { timersKind().test(t) }

func FuzzRestoreTimed(f *testing.F)  { timedKind().fuzz(f) }
func FuzzRestoreCoarse(f *testing.F) { coarseKind(false).fuzz(f) }
func FuzzRestoreTimers(f *testing.F) { timersKind().fuzz(f) }

// working returns a small filter, after some work.
func (k savedKind[C, F]) working(t testing.TB) F {
	f := k.make(t, k.small)
	check.RandomPackets(52, 1000, check.Clocks(100_000)["in order"]).Verdicts(f, 100)
	return f
}

func (k savedKind[C, F]) test(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(k.cut)) {
		t.Run("cut/"+name, func(t *testing.T) { k.goesOn(t, k.cut[name]) })
	}
	t.Run("damaged", func(t *testing.T) { check.Restore(t, k.working(t), k.restore) })
	for _, name := range slices.Sorted(maps.Keys(k.copied)) {
		t.Run("copied/"+name, func(t *testing.T) { check.PacketCopies(t, k.make(t, k.copied[name])) })
	}
	for i, s := range k.states {
		f := k.make(t, s.config)
		check.RandomPackets(s.seed, s.n, check.Clocks(100_000)[s.clock]).Verdicts(f, 100)
		check.State(t, fmt.Sprint("state ", i), f, s.want)
	}
}

// goesOn checks that a filter that is restored goes on as if nothing had happened.
func (k savedKind[C, F]) goesOn(t *testing.T, cfg C) {
	s := check.RandomPackets(53, 6000, check.Clocks(100_000)["jumps"])
	whole, cut := k.make(t, cfg), k.make(t, cfg)
	want := s.Verdicts(whole, 1000)
	rng := rand.New(rand.NewPCG(54, 54))
	for at := 0; at < len(want); {
		to := min(at+rng.IntN(1500), len(want))
		if !slices.Equal(s.Part(at, to).Verdicts(cut, 300), want[at:to]) {
			t.Fatalf("other verdicts from %d on", at)
		}
		at = to
		cut = check.Restart(t, cut, k.restore)
	}
	if cut.Stats() != whole.Stats() {
		t.Errorf("%+v, want %+v", cut.Stats(), whole.Stats())
	}
}

func (k savedKind[C, F]) fuzz(f *testing.F) {
	check.FuzzRestore(f, k.restore, func(filter F) {
		s := check.RandomPackets(15, 2000, check.Clocks(1000)["jumps"])
		filter.TestAndSet(make([]uint64, len(s.Digests)/64+1), s.Digests, s.Times, s.Points)
		filter.Stats()
	}, k.working(f))
}

// TestTimedStateGrowing is the state of a filter with older rows.
func TestTimedStateGrowing(t *testing.T) {
	f := newTimed(t, growing(t, "1s"))
	burstStream(60_000, int64(time.Second), int64(time.Second)/2500).Part(0, 20_000).Verdicts(f, 1000)
	if len(f.growth.older) == 0 {
		t.Error("no older lines")
	}
	check.State(t, "growing", f, "d4fa8951367c8923")
}

// TestCoarseOtherKind: a snapshot of other cells is refused, and the error names both.
func TestCoarseOtherKind(t *testing.T) {
	forCoarse(t, func(t *testing.T, fine bool) {
		saved := check.Saved(t, coarseKind(fine).working(t))
		_, err := coarseKind(!fine).restore(bytes.NewReader(saved), snapshot.RestoreConfig{Secret: check.SavedSecret, Label: check.SavedLabel, Memory: math.MaxInt})
		want := fmt.Sprintf("of a filter of kind %v, must be of kind %v", kindOfCoarse(fine), kindOfCoarse(!fine))
		if !errors.Is(err, snapshot.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}
