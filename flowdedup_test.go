// SPDX-License-Identifier: Apache-2.0

package flowdedup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/engine"
)

// TestDedupDamaged wants what lies before the damage, and its statistics.
func TestDedupDamaged(t *testing.T) {
	data, err := os.ReadFile("testdata/pcaps/router-plain.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 10, len(data) / 2, len(data) - 3} {
		var out bytes.Buffer
		stats, err := Dedup(t.Context(), &out, bytes.NewReader(data[:n]))
		if !capture.IsDamage(err) && !errors.Is(err, capture.ErrEmpty) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if n < len(data)/2 {
			continue
		}
		again, err := Dedup(t.Context(), io.Discard, &out)
		if stats.Packets == 0 || err != nil || again.Packets != stats.Packets-stats.Copies || again.Copies != 0 {
			t.Errorf("%d bytes: %d packets, %d copies, then %d, %d, %v", n, stats.Packets, stats.Copies, again.Packets, again.Copies, err)
		}
	}
}

// failing is a writer that is full.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestDedupFails wants the errors of settings, of the output and of the context.
func TestDedupFails(t *testing.T) {
	data, err := os.ReadFile("testdata/pcaps/router-plain.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	if _, err := Dedup(t.Context(), failing{full}, bytes.NewReader(data)); !errors.Is(err, full) {
		t.Error(err)
	}
	if _, err := Dedup(t.Context(), io.Discard, bytes.NewReader(data), Window(-1)); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dedup(ctx, io.Discard, bytes.NewReader(data)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSeen compares verdicts with a map, however the items are cut into calls.
func TestSeen(t *testing.T) {
	for _, w := range []time.Duration{0, time.Millisecond, time.Hour} {
		rng := rand.New(rand.NewPCG(1, uint64(w)))
		s, err := NewSeen(SeenConfig{Window: w, Memory: 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		latest, now := map[string]time.Time{}, time.Unix(1_800_000_000, 0)
		for range 60 {
			var items [][]byte
			var times []time.Time
			var want []bool
			for range rng.IntN(2000) {
				item := binary.LittleEndian.AppendUint32(make([]byte, rng.IntN(3)*400), rng.Uint32N(5_000))
				now = now.Add(time.Duration(rng.IntN(1000)))
				before, ok := latest[string(item)]
				if ok = ok && (w == 0 || now.Sub(before) <= w); !ok {
					latest[string(item)] = now
				}
				items, times, want = append(items, item), append(times, now), append(want, ok)
			}
			got := s.AppendSeen([]bool{true}, items, times)
			if !slices.Equal(got[1:], want) || !got[0] {
				t.Fatalf("window %v: verdicts differ from a map", w)
			}
		}
		if m := s.Stats().MemoryBytes; m > 16<<20+4096 {
			t.Errorf("window %v: %d bytes", w, m)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSeenTimes wants items without a usable time to be no repeats within a window.
func TestSeenTimes(t *testing.T) {
	s, err := NewSeen(SeenConfig{Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, at := range []time.Time{{}, {}, time.Date(1677, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if s.TestAndSet([]byte("item"), at) {
			t.Error("a repeat at", at)
		}
	}
	now := time.Now()
	if s.TestAndSet([]byte("item"), now) || !s.TestAndSet([]byte("item"), now.Add(-time.Hour)) {
		t.Error("a repeat is late by the window")
	}
	item := []byte("item")
	if n := testing.AllocsPerRun(100, func() { s.TestAndSet(item, now) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestDistinct counts every kind of key in every capture, and again from small batches. Addresses
// are compared with a map.
func TestDistinct(t *testing.T) {
	names, err := filepath.Glob("testdata/pcaps/*.pcap*")
	if err != nil || len(names) == 0 {
		t.Fatal("no captures", err)
	}
	cfg := DistinctConfig{Every: time.Minute}
	for k := keys.Src; k <= keys.MACs; k++ {
		cfg.Of = append(cfg.Of, keys.Config{Kind: k, VLAN: k == keys.Dst, Mask4: 24})
	}
	for _, name := range names {
		whole := counts(t, name, 0, cfg)
		if small := counts(t, name, 1<<10, cfg); len(whole) == 0 || !reflect.DeepEqual(whole, small) {
			t.Errorf("%s: counts differ\n%v\n%v", name, whole, small)
		}
		sources := map[uint32]bool{}
		keyer := keys.NewKeyer([]keys.Config{{Kind: keys.Src}}, headers.DecoderConfig{})
		src := open(t, name, 0)
		var b capture.Batch
		for src.Next(&b) == nil {
			for from, to := range b.Groups() {
				for _, a := range keyer.FromFrames(&b, from, to-from)[0].Addr4 {
					sources[a] = true
				}
			}
		}
		if got := counts(t, name, 0, DistinctConfig{})[0]; got.Distinct != uint64(len(sources)) || got.Family != "ipv4" {
			t.Errorf("%s: %v, want %d", name, got, len(sources))
		}
	}
}

func open(t *testing.T, name string, chunk int) capture.Source {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{ChunkSize: chunk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// counts returns the counts of a capture, without what growth changes.
func counts(t *testing.T, name string, chunk int, cfg DistinctConfig) (all []Count) {
	t.Helper()
	err := Distinct(t.Context(), open(t, name, chunk), cfg, func(c Count) error {
		c.MemoryBytes, c.FPR = 0, 0
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// TestDistinctFails wants each error once, and no more counts after it.
func TestDistinctFails(t *testing.T) {
	const name = "testdata/pcaps/router-plain.pcapng"
	for _, cfg := range []DistinctConfig{{Every: -1}, {Memory: 1}, {Memory: -1}, {Of: []keys.Config{{Kind: 99}}}, {Of: []keys.Config{{Mask4: 33}}}} {
		if err := Distinct(t.Context(), open(t, name, 0), cfg, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", cfg, err)
		}
	}
	full, calls := errors.New("full"), 0
	emit := func(Count) error { calls++; return full }
	if err := Distinct(t.Context(), open(t, name, 0), DistinctConfig{}, emit); fmt.Sprint(err) != "full" || calls != 1 {
		t.Error(err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls = 0
	if err := Distinct(ctx, open(t, name, 0), DistinctConfig{}, emit); !errors.Is(err, context.Canceled) || calls != 0 {
		t.Error(err, calls)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	src, err := pcapfile.NewReader(bytes.NewReader(data[:len(data)-3]), "cut", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls = 0
	err = Distinct(t.Context(), src, DistinctConfig{}, func(Count) error { calls++; return nil })
	if !capture.IsDamage(err) || calls != 3 {
		t.Error(err, calls)
	}
}

// TestErrConfig wants packages' own errors to be ErrConfig, each with its own text.
func TestErrConfig(t *testing.T) {
	for _, err := range []error{engine.ErrWindow, engine.ErrFPR, engine.ErrMemory, dedup.ErrConfig} {
		if other := fmt.Errorf("%w: more", err); !errors.Is(other, ErrConfig) || !errors.Is(other, err) || errors.Is(engine.ErrFPR, engine.ErrMemory) {
			t.Errorf("%v is not ErrConfig", err)
		}
	}
}
