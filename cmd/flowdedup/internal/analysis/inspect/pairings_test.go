// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const (
	host   = 0x0a000000 // of flow 0
	groups = 0xe9010100 // 233.1.1.0
)

// sentTwice returns packets of a flow, and each again as change has it.
func sentTwice(n int, change func(p, again *packet, i int)) (packets []packet) {
	for i := range n {
		p := packet{id: uint16(i + 1), flow: 1, to: host + 9, payload: uint32(i), time: int64(i) * ms}
		again := p
		again.id, again.time = uint16(3*i+1000), p.time+100*us
		change(&p, &again, i)
		packets = append(packets, p, again)
	}
	slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
	return packets
}

// TestRelays looks at packets that a relay or a second line sends with other addresses and
// identification.
func TestRelays(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		name   string
		change func(p, again *packet, i int)
		ignore string
	}{
		{"a relay", func(_, again *packet, _ int) { again.flow, again.to, again.port = 9, host+2, 77 }, "nat,ip-id"},
		{"a relay that keeps the identification", func(p, again *packet, _ int) { again.id, again.flow, again.to = p.id, 9, host+2 }, "nat"},
		{"a relay without identification", func(p, again *packet, _ int) { p.id, again.id, again.flow, again.to = 0, 0, 9, host+2 }, "nat"},
		{"a slow relay", func(_, again *packet, _ int) { again.flow, again.to, again.time = 9, host+2, again.time+30*ms }, "nat,ip-id"},
		{"two lines", func(p, again *packet, _ int) { p.to, again.flow, again.to = groups|1, 8, groups|2 }, "nat,ip-id"},
		{"two lines, each ahead at times", func(p, again *packet, _ int) {
			p.to, again.flow, again.to = groups|1, 8, groups|2
			again.time = p.time + random.Int64N(200*us) - 100*us
		}, "nat,ip-id"},
		{"TCP from a renumbering translation of both ends", func(p, again *packet, _ int) {
			p.tcp, again.tcp, again.flow, again.to, again.ttl = true, true, 8, host+7, 1
		}, "nat,ip-id"},
	} {
		packets := sentTwice(200, c.change)
		r := inspected(packets, 50)
		rec := &r.Recommendation
		if r.Copies != 200 || rec.Removes != 200 || rec.Wrong != 0 || strings.Join(rec.Ignore, ",") != c.ignore {
			t.Errorf("%s: %+v, tried %v", c.name, rec, r.Tried)
		}
		for kind := range r.Kinds {
			if parts := strings.Split(kind, "+"); !slices.Contains(parts, "relay") && !slices.Contains(parts, "nat") || slices.Contains(parts, "ip-id") != (c.ignore != "nat") {
				t.Errorf("%s: %v", c.name, r.Kinds)
			}
		}
	}
}

// TestLostOnLines looks at lines of which each loses some packets.
func TestLostOnLines(t *testing.T) {
	packets := sentTwice(500, func(p, again *packet, _ int) { p.to, again.flow, again.to = groups|1, 8, groups|2 })
	const want = 500 - 5
	for _, lost := range []int{20, 301, 302, 444, 711} {
		packets = slices.Delete(packets, lost, lost+1)
	}
	if r := inspected(packets, 50); r.Recommendation.Removes != want {
		t.Errorf("%+v", r)
	}
}

// TestNoRelays looks at senders that repeat contents. What leaving out the fields would remove is
// counted, and none of it is a copy.
func TestNoRelays(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p, again *packet, i int)
	}{
		{"one sender, two receivers", func(_, again *packet, _ int) { again.to = host + 10 }},
		{"one sender, two groups", func(p, again *packet, _ int) { p.to, again.to = groups|1, groups|2 }},
		{"two interfaces of a sender, one group", func(p, again *packet, _ int) { p.to, again.to, again.flow = groups|1, groups|1, 8 }},
		{"answers with the same contents", func(_, again *packet, _ int) { again.flow, again.to = 9, host+1 }},
		{"silence and keepalives", func(p, again *packet, _ int) { again.flow, again.to, p.payload, again.payload = 9, host+2, 0, 0 }},
		{"a few messages in turn", func(p, again *packet, i int) {
			again.flow, again.to = 9, host+2
			p.payload, again.payload = uint32(i%10), uint32(i%10)
		}},
		{"few of each flow", func(p, again *packet, i int) {
			if again.flow, again.to = 9, host+2; i%4 != 0 {
				again.payload += 1000
			}
		}},
		{"many flows of few packets", func(p, again *packet, i int) {
			p.port, again.port, again.flow, again.to = uint16(i/7), uint16(i/7), 9, host+2
		}},
		{"now to the relay, now from it", func(p, again *packet, i int) {
			if again.flow, again.to = 9, host+2; i%2 == 0 {
				p.flow, again.flow, p.to, again.to = again.flow, p.flow, again.to, p.to
			}
		}},
	} {
		r := inspected(sentTwice(200, c.change), 50)
		if r.Copies != 0 || r.Recommendation.Dedup || r.Conclusion != NoCopies || r.Tried[3].Packets != 400 || r.Tried[3].Equal == 0 || r.Tried[3].Copies != 0 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
