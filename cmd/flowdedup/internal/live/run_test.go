// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"io"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// batches is a source of batches of equal size, with a block before each packet.
type batches struct {
	capture.Source
	sizes   []int
	stopped bool
}

func (s *batches) Next(b *capture.Batch) error {
	b.Reset()
	if len(s.sizes) == 0 {
		return io.EOF
	}
	for i := range s.sizes[0] {
		b.Blocks = append(b.Blocks, capture.Block{Before: uint32(i)})
		b.Frames = append(b.Frames, capture.Frame{})
	}
	s.sizes = s.sizes[1:]
	return nil
}

func (s *batches) Stop() { s.stopped = true }

// TestLimit checks that the last batch is cut, with the blocks behind the cut.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		packets uint64
		want    []int // packets of each batch
	}{
		{0, []int{5, 0, 5, 3}}, {1, []int{1, 0, 0, 0}}, {4, []int{4, 0, 0, 0}}, {5, []int{5, 0, 0, 0}},
		{6, []int{5, 0, 1, 0}}, {13, []int{5, 0, 5, 3}}, {14, []int{5, 0, 5, 3}},
	} {
		inner := &batches{sizes: []int{5, 0, 5, 3}}
		sizes, left := inner.sizes, c.packets
		src := limit(inner, c.packets)
		for i, want := range c.want {
			b := &capture.Batch{}
			if err := src.Next(b); err != nil || len(b.Frames) != want || len(b.Blocks) != sizes[i] {
				t.Fatalf("limit %d, batch %d: %d packets and %d blocks, %v", c.packets, i, len(b.Frames), len(b.Blocks), err)
			}
			for _, k := range b.Blocks {
				if int(k.Before) > want {
					t.Errorf("limit %d, batch %d: a block behind %d of %d packets", c.packets, i, k.Before, want)
				}
			}
			left -= uint64(want)
			if over := c.packets > 0 && left == 0; inner.stopped != over {
				t.Errorf("limit %d, batch %d: stopped %v", c.packets, i, inner.stopped)
			}
		}
		if err := src.Next(&capture.Batch{}); err != io.EOF {
			t.Errorf("limit %d: %v", c.packets, err)
		}
	}
}

// TestPlaces finds interfaces by their names.
func TestPlaces(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil || len(all) == 0 {
		t.Skip("no interfaces: ", err)
	}
	here := traits.CapturePoint{Index: uint32(all[0].Index)}
	elsewhere, away := traits.CapturePoint{Index: here.Index + 1000}, traits.CapturePoint{Interface: 2, Index: math.MaxInt32}
	saved := []traits.CapturePoint{{}, {Interface: 1}, here, elsewhere, here, away, away}
	names := []string{"", "", all[0].Name, all[0].Name, "another one", "far away", ""}
	want := []traits.CapturePoint{{}, {Interface: 1}, here, here, {}, away, away}
	var p ifaceNames
	got, err := p.resume(saved, names)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	names[4] = ""
	if got := p.of(append(got, here, away)); !slices.Equal(got, append(names, all[0].Name, "")) {
		t.Errorf("names %q", got)
	}
}

// TestSlideClockSet has the clock set while slides are waited for, which are multiples of a
// minute: each comes within one.
func TestSlideClockSet(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	next := begin.Add(time.Minute)
	for _, c := range []struct {
		now  time.Duration
		want bool
	}{
		{0, false}, {59 * time.Second, false}, {time.Minute, true}, {61 * time.Second, true}, {24 * time.Hour, true},
		{-time.Second, true}, {-time.Hour, true}, {-50 * 365 * 24 * time.Hour, true},
	} {
		if got := isDue(begin.Add(c.now), next, time.Minute); got != c.want {
			t.Errorf("%v after the begin: %v, want %v", c.now, got, c.want)
		}
	}
}

// counting is a capture of one ring that has counts only.
type counting struct {
	liveCapture
	stats afpacket.Stats
}

func (c *counting) Stats() []afpacket.Stats { return []afpacket.Stats{c.stats} }

// TestOffloadsAreLogged says once of merged packets and of unfilled checksums what they cost.
func TestOffloadsAreLogged(t *testing.T) {
	const merged, unfilled = "gro off lro off", "--ignore l4-checksum"
	for _, c := range []struct {
		name   string
		stats  afpacket.Stats
		ignore identity.Fields
		learn  time.Duration
		want   []string
	}{
		{"neither", afpacket.Stats{Received: 9}, 0, 0, nil},
		{"merged", afpacket.Stats{Coalesced: 1}, identity.L4Checksum, 0, []string{merged}},
		{"unfilled", afpacket.Stats{ChecksumOffloaded: 1}, identity.TTL, 0, []string{unfilled}},
		{"both", afpacket.Stats{Coalesced: 1, ChecksumOffloaded: 1}, 0, 0, []string{merged, unfilled}},
		{"not compared", afpacket.Stats{ChecksumOffloaded: 1}, identity.L4Checksum, 0, nil},
		{"translated", afpacket.Stats{ChecksumOffloaded: 1}, identity.NAT, 0, nil},
		{"learned", afpacket.Stats{ChecksumOffloaded: 1}, 0, time.Minute, nil},
	} {
		var text bytes.Buffer
		cfg := &config{Learn: learnConfig{For: c.learn}}
		cfg.Dedup.Identity.Ignore = identity.IgnoreAlso(c.ignore)
		source := &counting{}
		w := &ticker{
			run:  &runner{cfg: cfg, log: slog.New(slog.NewTextHandler(&text, nil)), capture: source},
			last: map[ringName]afpacket.Stats{},
		}
		w.logRings()
		source.stats = c.stats
		w.logRings()
		source.stats.Coalesced *= 2
		w.logRings()
		lines := strings.Count(text.String(), "\n")
		for _, want := range c.want {
			if strings.Count(text.String(), want) != 1 {
				t.Errorf("%s: %q is not there once: %s", c.name, want, &text)
			}
		}
		if lines != len(c.want) {
			t.Errorf("%s: %d lines, want %d: %s", c.name, lines, len(c.want), &text)
		}
	}
}
