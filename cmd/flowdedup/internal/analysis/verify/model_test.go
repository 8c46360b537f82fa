// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// model returns the numbers of the removed packets that are copies of no kept packet.
func model(cfg *Config, in []packet) (lost []uint64) {
	seen := make([]bool, len(in)) // kept, or with Refresh copies of what was seen
	copied := make([]bool, len(in))
	joined := make([]bool, len(in)) // shares its window with a packet of another point
	for i := range in {
		seen[i] = !in[i].removed
	}
	near := func(i, k int) bool {
		switch {
		case in[i].content != in[k].content, cfg.Across && in[i].point == in[k].point && !joined[k], cfg.Within != 0 && in[i].point != in[k].point:
			return false
		case cfg.Landmark && cfg.Packets > 0:
			return i/int(cfg.Packets) == k/int(cfg.Packets)
		case cfg.Landmark: // they begin at Monday 1970-01-05, a multiple of each length here
			return in[i].time/int64(cfg.Window) == in[k].time/int64(cfg.Window)
		case cfg.Packets > 0:
			return uint64(max(i, k)-min(i, k)) <= cfg.Packets
		}
		return cfg.Window == 0 || max(in[i].time, in[k].time)-min(in[i].time, in[k].time) <= int64(cfg.Window+cfg.Tolerance)
	}
	for n, again := 0, false; again || n < len(in); {
		if !again {
			for k := range n {
				joined[n] = joined[n] || cfg.Refresh && seen[n] && seen[k] && near(n, k)
			}
			n++
		}
		again = false
		for i := range n {
			for k := range n {
				if !copied[i] && in[i].removed && seen[k] && near(i, k) {
					copied[i], seen[i], again = true, cfg.Refresh, true
					joined[i], joined[k] = cfg.Refresh, joined[k] || cfg.Refresh && i < k
				}
			}
		}
	}
	if (cfg.Window > 0 && !cfg.Landmark || cfg.Across) && !cfg.Refresh {
		copied = modelMoved(cfg, in, near)
	}
	for i := range in {
		if in[i].removed && !copied[i] {
			lost = append(lost, uint64(i+1))
		}
	}
	return lost
}

// modelMoved says of removed packets whether they are copies of a kept packet, or of a packet that was
// removed for a later packet and lies between both in time, or with Config.Across where both are from
// one point. The latest such packet counts. With Config.Across it is the original of the kept packet, if
// that is a copy of the latest packet that is no copy of such a packet before it.
func modelMoved(cfg *Config, in []packet, near func(i, k int) bool) (copied []bool) {
	copied = make([]bool, len(in))
	moved := map[byte][2]int{} // the first packet that waited for a kept packet, and the kept packet
	isMoved := func(i int) bool {
		m, ok := moved[in[i].content]
		if !ok || m[0] > i || !near(i, m[0]) {
			return false
		}
		before, after := in[i].time-in[m[0]].time, in[m[1]].time-in[m[0]].time
		return before < 0 && after > 0 || before > 0 && after < 0 || cfg.Across && in[i].point == in[m[1]].point
	}
	original := map[byte]int{} // the latest
	for k := range in {
		of, ok := original[in[k].content]
		ok = ok && cfg.Across && near(k, of)
		if ok && in[k].removed && cfg.Window > 0 && !cfg.Landmark {
			ok = max(in[k].time, in[of].time)-min(in[k].time, in[of].time) <= int64(cfg.Window)
		}
		if !ok {
			original[in[k].content] = k
		}
		if in[k].removed {
			for i := range k {
				copied[k] = copied[k] || !in[i].removed && near(i, k)
			}
			copied[k] = copied[k] || isMoved(k)
			continue
		}
		first := -1
		for i := range k {
			if in[i].removed && !copied[i] && near(i, k) {
				if copied[i] = true; first < 0 {
					first = i
				}
			}
		}
		if ok && in[of].removed {
			first = of
		}
		if first < 0 {
			continue
		}
		moved[in[k].content] = [2]int{first, k}
		for i := range k {
			copied[i] = copied[i] || in[i].removed && isMoved(i)
		}
	}
	return copied
}

// TestMoved accepts an output of --keep flow where the first of three equal packets lies between the
// others in time, and nothing else that is as far from the kept one.
func TestMoved(t *testing.T) {
	cfg := Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 24}
	for name, c := range map[string]struct {
		in   []packet
		lost uint64
	}{
		"after":           {[]packet{{time: 100, removed: true}, {time: 108}, {time: 91, removed: true}}, 0},
		"before":          {[]packet{{time: 100, removed: true}, {time: 91, removed: true}, {time: 108}}, 0},
		"kept is earlier": {[]packet{{time: 100, removed: true}, {time: 92}, {time: 109, removed: true}}, 0},
		"too far":         {[]packet{{time: 100, removed: true}, {time: 108}, {time: 89, removed: true}}, 1},
		"in order":        {[]packet{{time: 100, removed: true}, {time: 108}, {time: 119, removed: true}}, 1},
		"window slides":   {[]packet{{time: 100}, {time: 108, removed: true}, {time: 116, removed: true}}, 1},
		"none was moved":  {[]packet{{time: 108}, {time: 100, removed: true}, {time: 91, removed: true}}, 1},
		"another content": {[]packet{{time: 100, removed: true}, {time: 108}, {time: 91, content: 1, removed: true}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, dup := split(c.in)
			if r := verify(t, cfg, c.in, out, dup); r.Lost != c.lost || r.Unknown != 0 {
				t.Errorf("%+v, want lost %d", r, c.lost)
			}
		})
	}
}

// TestMovedAcross accepts copies of originals that --keep flow exchanged, though a kept packet was near
// the original, too.
func TestMovedAcross(t *testing.T) {
	cfg := Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 24, Across: true, Tolerance: 1}
	for name, c := range map[string]struct {
		in   []packet
		lost uint64
	}{
		"exchanged twice": {[]packet{{point: 1, removed: true}, {time: 1}, {time: 3, point: 1, removed: true}, {time: 8}, {time: 12, removed: true}}, 0},
		"once":            {[]packet{{point: 1, removed: true}, {time: 1}, {time: 3, point: 1, removed: true}, {time: 12, removed: true}}, 1},
		"not exchanged":   {[]packet{{}, {time: 3, point: 1, removed: true}, {time: 8}, {time: 12, removed: true}}, 1},
		"too far":         {[]packet{{point: 1, removed: true}, {time: 1}, {time: 3, point: 1, removed: true}, {time: 8}, {time: 15, removed: true}}, 1},
		"just beyond":     {[]packet{{}, {time: 11, point: 1, removed: true}, {time: 12}, {time: 20, removed: true}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, dup := split(c.in)
			if r := verify(t, cfg, c.in, out, dup); r.Lost != c.lost || r.Unknown != 0 {
				t.Errorf("%+v, want lost %d", r, c.lost)
			}
		})
	}
}

// TestRefreshAcross lets copies restart the window of an original of another point, whatever points
// they are from.
func TestRefreshAcross(t *testing.T) {
	cfg := Config{Identity: identity.Config{Kind: identity.Frame}, Window: 10, Memory: 1 << 24, Refresh: true, Across: true}
	for name, c := range map[string]struct {
		in   []packet
		lost uint64
	}{
		"restarted":        {[]packet{{}, {time: 8, point: 1, removed: true}, {time: 16, point: 1, removed: true}}, 0},
		"over":             {[]packet{{}, {time: 8, point: 1, removed: true}, {time: 19, point: 1, removed: true}}, 1},
		"one point":        {[]packet{{}, {time: 8, removed: true}}, 1},
		"a copy was kept":  {[]packet{{removed: true}, {time: 8, point: 1}, {time: 16, point: 1, removed: true}}, 0},
		"another original": {[]packet{{}, {time: 8, point: 1, removed: true}, {time: 9, removed: true}, {time: 16, point: 1}, {time: 24, point: 1, removed: true}}, 0},
		"the last copy":    {[]packet{{removed: true}, {time: 3, point: 1, removed: true}, {time: 11, point: 1, removed: true}, {time: 10, point: 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, dup := split(c.in)
			if r := verify(t, cfg, c.in, out, dup); r.Lost != c.lost || r.Unknown != 0 {
				t.Errorf("%+v, want lost %d", r, c.lost)
			}
		})
	}
}

var configs = []Config{
	{Window: 10},
	{Window: 10, Tolerance: 3},
	{Packets: 4},
	{}, // any distance
	{Window: 10, Across: true},
	{Window: 10, Across: true, Tolerance: 3},
	{Packets: 20, Across: true},
	{Across: true},
	{Window: 12, Within: traits.PointInterface},
	{Window: 6, Refresh: true},
	{Packets: 3, Refresh: true},
	{Window: 6, Refresh: true, Across: true},
	{Packets: 8, Refresh: true, Across: true},
	{Window: 12, Landmark: true},
	{Window: 10, Landmark: true, Across: true},
	{Packets: 5, Landmark: true},
}

// TestModel compares the losses with a plain model: packets in and out of time order, kept and
// removed at random.
func TestModel(t *testing.T) {
	for _, cfg := range configs {
		cfg.Identity.Kind, cfg.Memory = identity.Frame, 1<<24
		t.Run(fmt.Sprintf("%+v", cfg), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				in := random(rng, 60)
				out, dup := split(in)
				want := model(&cfg, in)
				r := verify(t, cfg, in, out, dup)
				if r.Lost != uint64(len(want)) || r.Kept != uint64(len(out)) || r.Removed != uint64(len(dup)) || r.Foreign+r.Unlisted+r.Misplaced+r.Unknown != 0 {
					t.Fatalf("%+v, want lost %d of %+v", r, want, in)
				}
				if len(want) > 0 && (r.First.Kind != Lost || r.First.Packet != want[0]) {
					t.Fatalf("first %+v, want %d", r.First, want[0])
				}
			}
		})
	}
}

// random returns packets of which some are out of order, and some removed. No two are the
// same, since an output does not show which of them it has.
func random(rng *rand.Rand, n int) []packet {
	packets, now, has := make([]packet, n), int64(1e18), map[packet]bool{}
	for i := range packets {
		now += rng.Int64N(4)
		p := packet{time: now, point: rng.Uint32N(2), content: byte(rng.IntN(5))}
		if rng.IntN(6) == 0 {
			p.time -= rng.Int64N(40)
		}
		for has[p] {
			p.time++
		}
		has[p] = true
		packets[i] = p
		packets[i].removed = rng.IntN(2) == 0
	}
	return packets
}
