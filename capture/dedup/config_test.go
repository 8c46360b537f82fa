// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

func TestConfigErrors(t *testing.T) {
	chooser := func([]uint64, *capture.Batch, int, int) {}
	hour := window.Window{Duration: time.Hour}
	for name, c := range map[string]struct {
		cfg  dedup.Config
		want error // nil for none
	}{
		"zero":                 {dedup.Config{}, nil},
		"all of it":            {dedup.Config{Keep: dedup.KeepFlow, Hold: time.Second, Intact: true, VerifyCopies: 64, Prefer: []dedup.Chooser{chooser}}, nil},
		"most preferences":     {dedup.Config{Prefer: slices.Repeat([]dedup.Chooser{chooser}, dedup.MaxPreferences)}, nil},
		"identity":             {dedup.Config{Identity: identity.Config{Kind: identity.Inner + 1}}, dedup.ErrConfig},
		"fields to ignore":     {dedup.Config{Identity: identity.Config{Ignore: identity.IgnoreAlso(identity.IPOptions << 1)}}, dedup.ErrConfig},
		"only unknown fields":  {dedup.Config{Identity: identity.Config{Ignore: identity.IgnoreOnly(1 << 31)}}, dedup.ErrConfig},
		"points":               {dedup.Config{Within: traits.PointOrigin << 1}, dedup.ErrConfig},
		"keep":                 {dedup.Config{Keep: 77}, dedup.ErrConfig},
		"hold":                 {dedup.Config{Keep: dedup.KeepFlow, Hold: -1}, dedup.ErrConfig},
		"hold of nothing":      {dedup.Config{Hold: -1}, dedup.ErrConfig},
		"too many preferences": {dedup.Config{Prefer: slices.Repeat([]dedup.Chooser{chooser}, dedup.MaxPreferences+1)}, dedup.ErrConfig},
		"a nil preference":     {dedup.Config{Prefer: []dedup.Chooser{chooser, nil}}, dedup.ErrConfig},
		"negative table":       {dedup.Config{VerifyCopies: -1}, dedup.ErrConfig},
		"table of no row":      {dedup.Config{VerifyCopies: 63}, engine.ErrMemory},
		"memory":               {dedup.Config{Filter: window.TimedConfig{Memory: -1}}, engine.ErrMemory},
		"limit":                {dedup.Config{Filter: window.TimedConfig{Memory: 64, Limit: -1}}, engine.ErrMemory},
		"rate":                 {dedup.Config{Filter: window.TimedConfig{FPR: -1}}, engine.ErrFPR},
		"window":               {dedup.Config{Filter: window.TimedConfig{Window: window.Window{Duration: -1}}}, engine.ErrWindow},
		"two windows":          {dedup.Config{Filter: window.TimedConfig{Window: window.Window{Duration: 1, Packets: 1}}}, engine.ErrWindow},
		"zone of no landmark":  {dedup.Config{Filter: window.TimedConfig{Window: hour}, Zone: time.UTC}, dedup.ErrConfig},
	} {
		d, err := dedup.New(c.cfg)
		if !errors.Is(err, c.want) || (d != nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if d != nil {
			d.Close()
		}
	}
}

// closing is a filter that notes whether it was closed.
type closing struct {
	engine.PacketFilter
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func TestPartsErrors(t *testing.T) {
	digester := func() digest.MessageDigester { return digest.NewAES([16]byte{}) }
	for name, c := range map[string]struct {
		parts dedup.Parts
		want  error
	}{
		"digester":   {dedup.Parts{}, dedup.ErrConfig},
		"identity":   {dedup.Parts{Digester: digester, Identity: identity.Config{Kind: 9}}, dedup.ErrConfig},
		"points":     {dedup.Parts{Digester: digester, Within: traits.SightingConfig{Fields: 1 << 7}}, dedup.ErrConfig},
		"keep":       {dedup.Parts{Digester: digester, Hold: &dedup.HoldConfig{Keep: 2}}, dedup.ErrConfig},
		"hold":       {dedup.Parts{Digester: digester, Hold: &dedup.HoldConfig{Hold: -1}}, dedup.ErrConfig},
		"window":     {dedup.Parts{Digester: digester, Hold: &dedup.HoldConfig{Window: -1}}, dedup.ErrConfig},
		"wait":       {dedup.Parts{Digester: digester, Hold: &dedup.HoldConfig{Wait: -1}}, dedup.ErrConfig},
		"memory":     {dedup.Parts{Digester: digester, Hold: &dedup.HoldConfig{Memory: -1}}, dedup.ErrConfig},
		"small copy": {dedup.Parts{Digester: digester, VerifyCopies: 1}, engine.ErrMemory},
	} {
		filter := &closing{}
		c.parts.Filter = filter
		if d, err := dedup.NewWith(c.parts); !errors.Is(err, c.want) || d != nil || !filter.closed {
			t.Errorf("%s: %v, closed %v", name, err, filter.closed)
		}
	}
	if _, err := dedup.NewWith(dedup.Parts{Digester: digester}); !errors.Is(err, dedup.ErrConfig) {
		t.Error(err)
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
		d, err := dedup.NewWith(dedup.Parts{
			Digester: func() digest.MessageDigester { return digest.NewAES([16]byte{}) },
			Filter:   filter, VerifyCopies: table,
		})
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
