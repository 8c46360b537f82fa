// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// ruleConfigs are configurations in which equal packets of a time reach different copies.
var ruleConfigs = []Config{
	{Packets: 2},
	{Packets: 4},
	{Packets: 3, Across: true},
	{Window: 3, Across: true},
	{Window: 3, Within: traits.PointInterface},
	{Packets: 3, Within: traits.PointInterface},
	{Packets: 2, Refresh: true},
	{Packets: 2, Refresh: true, Across: true},
	{Window: 3, Refresh: true, Within: traits.PointInterface},
	{Packets: 4, Landmark: true},
	{Window: 3, Landmark: true, Across: true},
}

// storm returns packets of which many are equal, also in time.
func storm(rng *rand.Rand, n int) []packet {
	packets, now := make([]packet, n), int64(1e18)
	for i := range packets {
		if rng.IntN(6) == 0 {
			now++
		}
		packets[i] = packet{time: now, point: rng.Uint32N(2), content: byte(rng.IntN(2))}
	}
	return packets
}

// remove removes each packet that is a copy of a packet kept before.
func remove(cfg *Config, in []packet) {
	for i := range in {
		in[i].removed = true
		in[i].removed = !slices.Contains(model(cfg, in[:i+1]), uint64(i+1))
	}
}

// unnamedBatch is batchOf without the names of interfaces, as pcap has none.
func unnamedBatch(packets []packet) *capture.Batch {
	b := batchOf(packets)
	for i := range b.Interfaces {
		b.Interfaces[i].Name = ""
	}
	return b
}

// optionBatch is unnamedBatch with an option in the blocks of point b, and obsolete blocks of point a.
func optionBatch(packets []packet) *capture.Batch {
	b := unnamedBatch(packets)
	for i := range b.Frames {
		const option = 8
		f := &b.Frames[i]
		f.CapLen, f.WireLen = f.CapLen-5, f.WireLen-5 // the rest, padded, is the option
		if f.Interface == 0 {
			f.RecordLen -= option
			binary.LittleEndian.PutUint32(b.Record(i), capture.BlockPacket)
		}
	}
	return b
}

// TestRule takes every output that was made by the rule for right, though it does not say
// which of several equal packets it has.
func TestRule(t *testing.T) {
	for name, batch := range map[string][2]func([]packet) *capture.Batch{
		"pcap": {unnamedBatch, unnamedBatch}, "pcapng to pcap": {batchOf, unnamedBatch}, "options": {optionBatch, optionBatch},
	} {
		t.Run(name, func(t *testing.T) { testRule(t, batch[0], batch[1]) })
	}
}

func testRule(t *testing.T, input, output func([]packet) *capture.Batch) {
	for _, cfg := range ruleConfigs {
		cfg.Identity.Kind, cfg.Memory = identity.Frame, 1<<24
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			for range 70 {
				in := storm(rng, 30)
				remove(&cfg, in)
				out, dup := split(in)
				v := newVerifier(cfg, &source{batch: output(out), err: io.EOF}, &source{batch: output(dup), err: io.EOF})
				v.Add(input(in))
				r, err := v.Report()
				if err != nil || r.Differences()+r.Unknown != 0 || r.First != nil || r.Kept != uint64(len(out)) {
					t.Fatalf("%+v, %v of %+v", r, err, in)
				}
			}
		})
	}
}

// TestRuleBack takes outputs for right where times go back: the latest original decides.
func TestRuleBack(t *testing.T) {
	cfg := Config{Window: 3, Within: traits.PointInterface, Memory: 1 << 24, Identity: identity.Config{Kind: identity.Frame}}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 200 {
		in, originals := storm(rng, 30), map[packet]int64{}
		for i := range in {
			p := &in[i]
			p.time -= rng.Int64N(2) * 5
			of := packet{point: p.point, content: p.content}
			if at, ok := originals[of]; ok && apart(p.time, at) <= 3 {
				p.removed = true
			} else {
				originals[of] = p.time
			}
		}
		out, dup := split(in)
		if r := verifyAs(t, unnamedBatch, cfg, in, out, dup); r.Differences()+r.Unknown != 0 {
			t.Fatalf("%+v of %+v", r, in)
		}
	}
}

// removeWhole is remove where packets of point b are truncated: they stay, and are no originals.
func removeWhole(cfg *Config, in []packet) {
	var whole []packet
	for _, p := range in {
		if p.point == 0 {
			whole = append(whole, p)
		}
	}
	remove(cfg, whole)
	for i := range in {
		if in[i].point == 0 {
			in[i], whole = whole[0], whole[1:]
		}
	}
}

// TestRuleSliced takes outputs that were cut, or lack headers, for right, in which packets are equal that
// were not.
func TestRuleSliced(t *testing.T) {
	const left = 20
	whole := func(packets []packet) *capture.Batch {
		b := new(capture.Batch)
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
		for _, p := range packets {
			b.Append(capture.Frame{Time: p.time, WireLen: left + 2}, []byte{left + 1: p.content}[:left+2-2*p.point])
		}
		return b
	}
	shorten := func(b *capture.Batch) *capture.Batch {
		for i := range b.Frames {
			f := &b.Frames[i]
			f.CapLen, f.RecordLen = left, f.Data-f.Record+left+4
		}
		return b
	}
	cut := func(packets []packet) *source { return &source{batch: shorten(whole(packets)), err: io.EOF} }
	for _, cfg := range []Config{{Window: 3}, {Packets: 4}, {}, {Window: 3, Strip: shorten}} {
		removed := cut
		if cfg.Identity.Kind, cfg.Memory = identity.Frame, 1<<20; cfg.Strip == nil {
			cfg.Slice = Slice{Bytes: left}
		} else { // the removed packets have all headers
			removed = func(packets []packet) *source { return &source{batch: whole(packets), err: io.EOF} }
		}
		t.Run(fmt.Sprint(cfg.Window, cfg.Packets, cfg.Slice), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 10))
			for range 200 {
				in := storm(rng, 30)
				removeWhole(&cfg, in)
				out, dup := split(in)
				v := newVerifier(cfg, cut(out), removed(dup))
				v.Add(whole(in))
				r, err := v.Report()
				if err != nil || r.Differences()+r.Unknown != 0 || r.First != nil || r.Kept != uint64(len(out)) {
					t.Fatalf("%+v, %v of %+v", r, err, in)
				}
			}
		})
	}
}

// TestRuleLost never takes an output for right that no choice between equal packets makes
// right.
func TestRuleLost(t *testing.T) {
	for _, cfg := range ruleConfigs {
		cfg.Identity.Kind, cfg.Memory = identity.Frame, 1<<24
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			wrong := 0
			for range 500 {
				in := storm(rng, 9)
				for i := range in {
					in[i].removed = rng.IntN(2) == 0
				}
				out, dup := split(in)
				r := verifyAs(t, unnamedBatch, cfg, in, out, dup)
				if anyRight(&cfg, in, out) {
					continue
				}
				if wrong++; r.Lost == 0 {
					t.Fatalf("%+v is taken for right: %+v", r, in)
				}
			}
			if wrong == 0 {
				t.Error("no output was wrong")
			}
		})
	}
}

// anyRight reports whether the packets of an output can be chosen from those of the input,
// in order, so that all others are copies.
func anyRight(cfg *Config, in, out []packet) bool {
	var choose func(n int, out []packet) bool
	choose = func(n int, out []packet) bool {
		if n == len(in) {
			return len(out) == 0 && len(model(cfg, in)) == 0
		}
		in[n].removed = false
		if len(out) > 0 && in[n].time == out[0].time && in[n].content == out[0].content && choose(n+1, out[1:]) {
			return true
		}
		in[n].removed = true
		return choose(n+1, out)
	}
	return choose(0, out)
}
