// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// closing is a filter that notes whether it was closed.
type closing struct {
	engine.PacketFilter
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// TestConfigErrors rejects what cannot be, and closes the filter then.
func TestConfigErrors(t *testing.T) {
	chooser := func([]uint64, *capture.Batch, int, int) {}
	for name, c := range map[string]struct {
		cfg  dedup.Config
		want error // nil for none
	}{
		"zero":                 {dedup.Config{}, nil},
		"all of it":            {dedup.Config{Hold: hold.Config{Flow: true, Intact: true, For: time.Second}, VerifyCopies: 64, Prefer: []dedup.Chooser{chooser}}, nil},
		"most preferences":     {dedup.Config{Prefer: slices.Repeat([]dedup.Chooser{chooser}, dedup.MaxPreferences)}, nil},
		"identity":             {dedup.Config{Identity: identity.Config{Kind: identity.Inner + 1}}, dedup.ErrConfig},
		"fields to ignore":     {dedup.Config{Identity: identity.Config{Ignore: identity.IgnoreAlso(identity.IPOptions << 1)}}, dedup.ErrConfig},
		"only unknown fields":  {dedup.Config{Identity: identity.Config{Ignore: identity.IgnoreOnly(1 << 31)}}, dedup.ErrConfig},
		"points":               {dedup.Config{Within: traits.Points{Fields: traits.PointOrigin << 1}}, dedup.ErrConfig},
		"hold":                 {dedup.Config{Hold: hold.Config{Flow: true, For: -1}}, dedup.ErrConfig},
		"hold of nothing":      {dedup.Config{Hold: hold.Config{For: -1}}, dedup.ErrConfig},
		"wait":                 {dedup.Config{Hold: hold.Config{Wait: -1}}, dedup.ErrConfig},
		"too many preferences": {dedup.Config{Prefer: slices.Repeat([]dedup.Chooser{chooser}, dedup.MaxPreferences+1)}, dedup.ErrConfig},
		"a nil preference":     {dedup.Config{Prefer: []dedup.Chooser{chooser, nil}}, dedup.ErrConfig},
		"negative table":       {dedup.Config{VerifyCopies: -1}, dedup.ErrConfig},
		"table of no row":      {dedup.Config{VerifyCopies: 63}, engine.ErrMemory},
		"window":               {dedup.Config{Window: window.Window{Duration: -1}}, engine.ErrWindow},
		"two windows":          {dedup.Config{Window: window.Window{Duration: 1, Packets: 1}}, engine.ErrWindow},
	} {
		for _, own := range []bool{false, true} {
			filter := &closing{}
			if own {
				c.cfg.Filter = filter
			}
			d, err := dedup.New(c.cfg)
			if own && c.want == engine.ErrWindow {
				c.want = nil // the filter has the window
			}
			if !errors.Is(err, c.want) || (d != nil) != (c.want == nil) || filter.closed != (own && c.want != nil) {
				t.Errorf("%s: %v, want %v; closed %v", name, err, c.want, filter.closed)
			}
			if d != nil {
				d.Close()
			}
		}
	}
}

// TestVerifyCopies has a filter that takes different packets for copies. With a table all
// copies are some.
func TestVerifyCopies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	came, known := map[uint16]bool{}, make([]bool, 6000)
	for i := range known {
		name := uint16(random.IntN(5000))
		b.Append(capture.Frame{Time: int64(i)}, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, byte(name), byte(name >> 8)})
		known[i] = came[name]
		came[name] = true
	}
	judge := func(table int) (right, wrong uint64, s dedup.Stats) {
		filter, err := stream.NewPackets(stream.Config{Method: "sbf", Memory: 1 << 10, FPR: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		d, err := dedup.New(dedup.Config{Secret: engine.Secret{1}, Filter: filter, VerifyCopies: table})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		drop := d.Copies(&b)
		for i, known := range known {
			switch isCopy := drop[i/64]>>(i%64)&1 != 0; {
			case isCopy && known:
				right++
			case isCopy:
				wrong++
			}
		}
		return right, wrong, d.Stats()
	}
	right, wrong, s := judge(0)
	if right < 100 || wrong < 100 || s.Unverified != 0 || s.Copies != right+wrong {
		t.Errorf("without a table %d right and %d wrong copies, %d unverified", right, wrong, s.Unverified)
	}
	verified, none, with := judge(1 << 20)
	if verified != right || none != 0 || with.Unverified != wrong || with.MemoryBytes < s.MemoryBytes+1<<19 {
		t.Errorf("with a table %d right and %d wrong copies, %d unverified, %d bytes", verified, none, with.Unverified, with.MemoryBytes)
	}
}
