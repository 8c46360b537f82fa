// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestLandmarkCopies compares with a plain map of the contents of windows, for all captures,
// whatever the size of batches is, and with packets that are not judged.
func TestLandmarkCopies(t *testing.T) {
	windows := []window.Window{
		{Duration: 100 * time.Millisecond, Landmark: true}, {Duration: time.Second, Landmark: true}, {Packets: 64, Landmark: true}, {Packets: 100, Landmark: true},
	}
	even := func(chosen []uint64, _ *capture.Batch, from, to int) {
		for i := range chosen[:(to-from+63)/64] {
			chosen[i] = 0x5555555555555555
		}
		if rest := (to - from) % 64; rest != 0 {
			chosen[(to-from)/64] &= 1<<rest - 1
		}
	}
	found := 0
	eachTruth(t, func(t *testing.T, want *truth) {
		for _, w := range windows {
			for _, only := range []dedup.Chooser{nil, even} {
				cfg := want.config()
				cfg.Secret, cfg.Across = engine.Secret{1}, false
				plain := cfg
				plain.Window = window.Window{None: true}
				cfg.Window, cfg.Only = w, only
				d, model := detector(t, cfg), landmarkModel{identities: detector(t, plain).NewBatchDetector(), window: w, some: only != nil}
				src := want.open(t)
				var b capture.Batch
				for n := 0; ; n += len(b.Frames) {
					if err := src.Next(&b); err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					got, want := marked(nil, d.Copies(&b), n, len(b.Frames)), model.copies(&b, n)
					if !slices.Equal(got, want) {
						t.Fatalf("%v, only some %v: copies %v, want %v", w, only != nil, got, want)
					}
					found += len(got)
				}
			}
		}
	})
	if found < 1000 {
		t.Errorf("only %d copies", found)
	}
}

// landmarkModel remembers what windows hold. With some, it leaves out packets with odd
// numbers of each batch.
type landmarkModel struct {
	identities *dedup.BatchDetector
	window     window.Window
	some       bool
	position   int64
	seen       map[landmarkKey]bool
}

type landmarkKey struct {
	window int64
	digest digest.Digest
}

func (m *landmarkModel) copies(b *capture.Batch, first int) (all []int) {
	if m.seen == nil {
		m.seen = map[landmarkKey]bool{}
	}
	windows := calendar.Calendar{Every: m.window.Duration}
	m.identities.Prepare(b)
	for i, d := range m.identities.Digests() {
		at := b.Frames[i].Time
		if m.some && i%2 == 1 || m.window.Packets == 0 && at == calendar.NoTime {
			continue
		}
		k := landmarkKey{m.position / max(1, m.window.Packets), d}
		if m.window.Packets == 0 {
			k.window, _ = windows.Window(at)
		}
		m.position++
		if m.seen[k] {
			all = append(all, first+i)
		}
		m.seen[k] = true
	}
	return all
}

// TestLandmarkPrefer has a better copy that comes late for its window: it is kept instead of a
// packet of that window, and not instead of an equal packet of the next.
func TestLandmarkPrefer(t *testing.T) {
	const ms = int64(time.Millisecond)
	m := &mirrored{}
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, one := range []struct {
		vlan uint16
		at   int64
	}{{20, 9 * ms}, {20, 11 * ms}, {10, 9*ms + 1}, {20, 12 * ms}, {20, 8 * ms}} {
		m.frame(&b, mirroredPacket{7, 0}, one.vlan, false, time.Duration(one.at))
	}
	d := detector(t, dedup.Config{Prefer: []dedup.Chooser{inVLAN(10)}, Hold: hold.Config{For: 5 * time.Millisecond},
		Window: window.Window{Duration: 10 * time.Millisecond, Landmark: true}})
	var w keptTimes
	p := d.NewBatchDetector()
	p.Prepare(&b)
	copies := marked(nil, p.Judge(&b), 0, len(b.Frames))
	if err := errors.Join(p.Write(&b, &w), d.Finish(&w)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(copies, []int{2, 3, 4}) || !slices.Equal(w.times, []int64{11 * ms, 9*ms + 1}) {
		t.Errorf("copies %v, times of kept packets %v", copies, w.times)
	}
}

// keptTimes is a writer that notes the times of packets that stay.
type keptTimes struct{ times []int64 }

func (w *keptTimes) Write(b *capture.Batch, drop []uint64) error {
	return eachKept(b, drop, func(i int) { w.times = append(w.times, b.Frames[i].Time) })
}

func TestLandmarkErrors(t *testing.T) {
	for _, cfg := range []dedup.Config{
		{Window: window.Window{None: true, Landmark: true}}, {Window: window.Window{Packets: 9, Landmark: true}, Position: 1 << 63},
	} {
		if _, err := dedup.New(cfg); !errors.Is(err, engine.ErrWindow) {
			t.Error(err)
		}
	}
}

// TestLandmarkZone has equal packets on the same day of a zone, which are on two days elsewhere.
func TestLandmarkZone(t *testing.T) {
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, at := range []time.Duration{22 * time.Hour, 23 * time.Hour} {
		(&mirrored{}).frame(&b, mirroredPacket{7, 0}, 10, false, at)
	}
	for zone, want := range map[*time.Location]int{nil: 1, time.FixedZone("east", 3600): 0, time.FixedZone("west", -3600): 1} {
		d := detector(t, dedup.Config{Zone: zone, Window: window.Window{Duration: 24 * time.Hour, Landmark: true}})
		if got := marked(nil, d.Copies(&b), 0, 2); len(got) != want {
			t.Errorf("%v: copies %v, want %d", zone, got, want)
		}
	}
}
