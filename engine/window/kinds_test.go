// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

func newTimed(t testing.TB, c TimedConfig) *Timed    { return check.New(t, NewTimed, c) }
func newCoarse(t testing.TB, c CoarseConfig) *Coarse { return check.New(t, NewCoarse, c) }
func newTimers(t testing.TB, c TimersConfig) *Timers { return check.New(t, NewTimers, c) }
func newExact(t testing.TB, c TimedConfig) *Exact    { return check.New(t, exactOf, c) }

// exactOf makes the exact filter of the same window.
func exactOf(c TimedConfig) (*Exact, error) {
	return NewExact(ExactConfig{Window: c.Window, Refresh: c.Refresh, Across: c.Across, memory: c.Memory})
}

// Filters of more than one part of a copy, and of no whole words.
const copiedMemory = 1<<20 + 64

var (
	oneMillisecond = Window{Duration: time.Millisecond}
	// hostile are windows for times from all of an int64.
	hostile = []Window{{Duration: 1}, {Duration: 1e6}, {Duration: 1e9}, {Duration: math.MaxInt64 - 1}, {Duration: math.MaxInt64}}
)

// modes returns a configuration for each window, and each of four modes.
func modes[C any](windows []Window, of func(w Window, mode int) C) (all []C) {
	for _, w := range windows {
		for mode := range 4 {
			all = append(all, of(w, mode))
		}
	}
	return all
}

// named returns configurations by what they say.
func named[C any](all []C) map[string]C {
	byName := map[string]C{}
	for _, c := range all {
		byName[fmt.Sprintf("%+v", c)] = c
	}
	return byName
}

func timedKind() check.SavedPacketKind[TimedConfig, *Timed] {
	of := func(memory int) func(Window, int) TimedConfig {
		return func(w Window, mode int) TimedConfig {
			return TimedConfig{Window: w, Memory: memory, Refresh: mode&1 != 0, Across: mode&2 != 0, FPR: 5e-11}
		}
	}
	pinned := func(w Window, across bool) TimedConfig { return TimedConfig{Window: w, Memory: 6400, Across: across} }
	w := Window{Duration: Default}
	k := check.SavedPacketKind[TimedConfig, *Timed]{
		Restore: RestoreTimed,
		Cut:     named(modes([]Window{oneMillisecond, {Duration: 999_999_937}, {Packets: 70}, {None: true}}, of(1600))),
		Copied: map[string]TimedConfig{
			"across":  {Window: Window{Duration: time.Second}, Memory: copiedMemory, Across: true},
			"growing": {Window: Window{Duration: time.Hour}, Memory: copiedMemory, Limit: 64 << 20},
			"count":   {Window: Window{Packets: 5000}, Memory: copiedMemory},
		},
		Pinned: []check.Pinned[TimedConfig]{
			{pinned(oneMillisecond, true), "in order", "0c924be1", "4be702f7f92061cf"},
			{pinned(Window{Duration: 999_999_937}, true), "jumps", "f1599d0e", "6c59001ee80e43bf"},
			{pinned(Window{Packets: 70}, true), "in order", "99e76b1f", "25227b4c3afed5fb"},
			{pinned(Window{None: true}, true), "in order", "d0e5a7cb", "3987d7d9f6ae7d2d"},
			{pinned(oneMillisecond, false), "jumps", "06ec04db", "2606586f7d5dc788"},
			{pinned(Window{Duration: time.Second}, false), "jumps", "689e5c74", "ea9fa5aea6e87bc1"},
			{pinned(Window{Packets: 300}, false), "jumps", "bc368b10", "998b785bf24ba9bc"},
			{pinned(Window{None: true}, false), "jumps", "b07c9550", "79f75e0b2218ac8c"},
		},
	}
	k.New, k.Slices, k.Small = NewTimed, 3, TimedConfig{Window: oneMillisecond, Memory: 6400, Across: true}
	k.Memory = func(f *Timed) []layout.Line { return f.rows.arena.Lines() }
	for _, w := range hostile {
		k.Hostile = append(k.Hostile, TimedConfig{Window: w, Memory: 1 << 14})
	}
	windows := []Window{oneMillisecond, {Duration: 50 * time.Millisecond}, {Packets: 700}, {None: true}}
	k.Batches = append(modes(windows, of(300*layout.LineSize)), of(16*layout.LineSize)(Window{Packets: 70}, 0))
	k.Refused = []check.Refused[TimedConfig]{
		{TimedConfig{Memory: 64}, engine.ErrWindow, "set exactly one of Duration, Packets and None"},
		{TimedConfig{Window: Window{Duration: 1, Packets: 1}}, engine.ErrWindow, "set exactly one"},
		{TimedConfig{Window: Window{Packets: 1, None: true}}, engine.ErrWindow, "set exactly one"},
		{TimedConfig{Window: Window{Duration: -1}}, engine.ErrWindow, "duration -1ns"},
		{TimedConfig{Window: Window{Packets: -1}}, engine.ErrWindow, "-1 packets"},
		{TimedConfig{Window: Window{Duration: time.Hour, Landmark: true}}, engine.ErrWindow, "no landmark windows"},
		{TimedConfig{Memory: 63, Window: w}, engine.ErrMemory, ""},
		{TimedConfig{Memory: -1, Window: w}, engine.ErrMemory, ""},
		{TimedConfig{Memory: 64, Limit: -1, Window: w}, engine.ErrMemory, ""},
		{TimedConfig{Memory: 64, Window: w, FPR: 1}, engine.ErrFPR, ""},
		{TimedConfig{Memory: 64, Window: w, FPR: -1e-9}, engine.ErrFPR, ""},
		{TimedConfig{Memory: 64, Window: w, FPR: math.NaN()}, engine.ErrFPR, ""},
		{TimedConfig{Memory: 64, Window: w, FPR: 1e-15}, engine.ErrFPR, ""},
		{TimedConfig{Memory: 64, Window: w, FPR: 1e-12, Across: true}, engine.ErrFPR, ""},
		{TimedConfig{Memory: math.MaxInt, Window: w}, layout.ErrArenaSize, ""},
	}
	return k
}

// coarseKind has some filters that are restored in the middle of growing.
func coarseKind(fine bool) check.SavedPacketKind[CoarseConfig, *Coarse] {
	of := func(memory int) func(Window, int) CoarseConfig {
		return func(w Window, mode int) CoarseConfig {
			return CoarseConfig{Window: w, Fine: fine, Memory: memory, Refresh: mode&1 != 0, Limit: mode / 2 << 20}
		}
	}
	k := check.SavedPacketKind[CoarseConfig, *Coarse]{
		Restore: RestoreCoarse,
		Cut:     named(modes([]Window{oneMillisecond, {Duration: 999_999_937}, {Packets: 700}}, of(1600))),
		Copied:  map[string]CoarseConfig{"one second": of(copiedMemory)(Window{Duration: time.Second}, 0)},
		Pinned: []check.Pinned[CoarseConfig]{
			{of(6400)(oneMillisecond, 0), "jumps", "8b913b3b", "bfdab3ebdf69da24"},
			{of(6400)(Window{Duration: time.Second}, 0), "jumps", "6cd014b1", "177f0a8e844de910"},
			{of(6400)(Window{Packets: 300}, 0), "jumps", "257def28", "e5aa7d3078289899"},
		},
	}
	if fine {
		k.Restore = RestoreFine
		for i, p := range [][2]string{{"ba951361", "e7ed850a45e98962"}, {"031e7746", "4723ad610c6a02ec"}, {"f5b9a147", "f492885a17bd21d0"}} {
			k.Pinned[i].Verdicts, k.Pinned[i].State = p[0], p[1]
		}
	}
	k.New, k.Slices, k.Small = NewCoarse, 2, of(6400)(oneMillisecond, 2)
	k.Memory = func(f *Coarse) []layout.Line { return f.rows.arena.Lines() }
	for _, w := range hostile {
		k.Hostile = append(k.Hostile, CoarseConfig{Window: w, Fine: fine, Memory: 1 << 12, Limit: 1 << 16})
	}
	k.Batches = append(modes([]Window{oneMillisecond, {Duration: 50 * time.Millisecond}, {Packets: 700}}, of(30*layout.LineSize)),
		of(4096)(Window{Packets: math.MaxInt64}, 0))
	w := Window{Duration: Default}
	k.Refused = []check.Refused[CoarseConfig]{
		{CoarseConfig{Memory: 64}, engine.ErrWindow, ""},
		{CoarseConfig{Memory: 64, Window: Window{None: true}}, engine.ErrWindow, ""},
		{CoarseConfig{Memory: 63, Window: w}, engine.ErrMemory, ""},
		{CoarseConfig{Memory: 64, Limit: -1, Window: w}, engine.ErrMemory, ""},
		{CoarseConfig{Memory: math.MaxInt, Window: w}, layout.ErrArenaSize, ""},
	}
	return k
}

func timersKind() check.SavedPacketKind[TimersConfig, *Timers] {
	k := check.SavedPacketKind[TimersConfig, *Timers]{
		Restore: RestoreTimers,
		Copied:  map[string]TimersConfig{"one second": {Window: Window{Duration: time.Second}, Memory: copiedMemory}},
	}
	k.New, k.Slices, k.Small = NewTimers, 2, TimersConfig{Window: oneMillisecond, Memory: 6400}
	k.Memory = func(f *Timers) []layout.Line { return f.arena.Lines() }
	k.Pinned = []check.Pinned[TimersConfig]{{k.Small, "in order", "ef540832", "6299fdfb5630478a"}}
	for _, w := range hostile {
		k.Hostile = append(k.Hostile, TimersConfig{Window: w, Memory: 1 << 12})
	}
	const memory = 64 * layout.LineSize // so small that there are false positives
	k.Batches = []TimersConfig{
		{Window: Window{Duration: 100_000}, Memory: memory}, {Window: oneMillisecond, K: 4, Equal: 2, Memory: memory},
		{Window: Window{Duration: 1000}, TimerBits: 16, Refresh: true, Memory: memory}, {Window: Window{Packets: 500}, K: 1, Memory: memory},
	}
	k.Cut = named(append(k.Batches, TimersConfig{Window: oneMillisecond, Memory: 1600}))
	w := oneMillisecond
	k.Refused = []check.Refused[TimersConfig]{
		{TimersConfig{Memory: 64}, engine.ErrWindow, ""},
		{TimersConfig{Memory: 64, Window: Window{None: true}}, engine.ErrWindow, ""},
		{TimersConfig{Memory: 63, Window: w}, engine.ErrMemory, ""},
		{TimersConfig{Memory: 64, Window: w, K: 9}, errTimers, "K is 9"},
		{TimersConfig{Memory: 64, Window: w, K: -1}, errTimers, "K is -1"},
		{TimersConfig{Memory: 64, Window: w, K: 3, Equal: 4}, errTimers, ""},
		{TimersConfig{Memory: 64, Window: w, TimerBits: 12}, errTimers, "timer bits is 12"},
		{TimersConfig{Memory: 64, Window: w, TimerBits: 32}, errTimers, ""},
	}
	return k
}

func TestTimed(t *testing.T)  { timedKind().Test(t) }
func TestCoarse(t *testing.T) { coarseKind(false).Test(t) }
func TestFine(t *testing.T)   { coarseKind(true).Test(t) }
func TestTimers(t *testing.T) { timersKind().Test(t) }

func TestExact(t *testing.T) {
	k := check.PacketKind[TimedConfig, *Exact]{New: exactOf, Slices: 3, Small: timedKind().Small, Hostile: timedKind().Hostile}
	for _, w := range []Window{oneMillisecond, {Packets: 70}, {None: true}} {
		k.Batches = append(k.Batches, TimedConfig{Window: w})
	}
	k.Refused = []check.Refused[TimedConfig]{{TimedConfig{}, engine.ErrWindow, ""}}
	k.Test(t)
}

func FuzzRestoreTimed(f *testing.F)  { timedKind().Fuzz(f) }
func FuzzRestoreCoarse(f *testing.F) { coarseKind(false).Fuzz(f) }
func FuzzRestoreTimers(f *testing.F) { timersKind().Fuzz(f) }

// TestNew compares the statistics of empty filters.
func TestNew(t *testing.T) {
	w := Window{Duration: Default}
	for _, fpr := range []float64{0.5, 1e-9, 1e-10, 4e-13} {
		st := newTimed(t, TimedConfig{Memory: 200, Window: w, FPR: fpr}).Stats()
		if st.PredictedFPR > fpr || st.MemoryBytes != 192 || st.Method != "timed" {
			t.Errorf("rate %v: %+v", fpr, st)
		}
	}
	if st := newTimed(t, TimedConfig{Window: w}).Stats(); st.MemoryBytes != DefaultTimedMemory(w, 0)/64*64 {
		t.Errorf("timed without memory: %+v", st)
	}
	if st := newTimers(t, TimersConfig{Window: w}).Stats(); st.MemoryBytes != DefaultMemory(w, 0) {
		t.Errorf("timers without memory: %+v", st)
	}
	st := newCoarse(t, CoarseConfig{Memory: 200, Window: w}).Stats()
	if st.PredictedFPR != CoarseFPR || st.EdgeError == 0 || st.MemoryBytes != 192 || st.Method != "coarse" {
		t.Errorf("coarse: %+v", st)
	}
	exact := newExact(t, TimedConfig{Window: w})
	if st := exact.Stats(); st != (engine.PacketStats{Method: "exact", MemoryBytes: exactBytes(0, leastIndex)}) {
		t.Errorf("exact: %+v", st)
	}
	check.RandomPackets(18, 1000, check.Clocks(1000)["in order"]).Verdicts(exact, 100)
	if st, n := exact.Stats(), exact.kept.len; st.MemoryBytes < n*32 || st.MemoryBytes > n*32*4 {
		t.Errorf("exact: %d elements in %d bytes", n, st.MemoryBytes)
	}
}

// TestTimersCheck: the same configurations are refused without a filter, unless their memory
// is wrong.
func TestTimersCheck(t *testing.T) {
	for _, c := range timersKind().Refused {
		if err := c.Config.Check(); c.Is != engine.ErrMemory && !errors.Is(err, c.Is) {
			t.Errorf("%+v: %v", c.Config, err)
		}
	}
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
		saved := check.Saved(t, newCoarse(t, coarseKind(fine).Small))
		_, err := coarseKind(!fine).Restore(bytes.NewReader(saved), snapshot.RestoreConfig{Secret: check.SavedSecret, Label: check.SavedLabel, Memory: math.MaxInt})
		want := fmt.Sprintf("of a filter of kind %v, must be of kind %v", kindOfCoarse(fine), kindOfCoarse(!fine))
		if !errors.Is(err, snapshot.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	})
}
