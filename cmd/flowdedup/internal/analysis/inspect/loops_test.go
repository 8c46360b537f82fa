// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"slices"
	"testing"
)

// circling returns a packet that goes in circles between two routers.
func circling(passes int, p packet, apart int64) (packets []packet) {
	for i := range passes {
		p.ttl, p.mac, p.time = uint8(i), byte(i%2), int64(i)*apart
		packets = append(packets, p)
	}
	return packets
}

// repeated returns the same frame again and again.
func repeated(passes int, p packet, apart int64) (packets []packet) {
	for i := range passes {
		p.time = int64(i) * apart
		packets = append(packets, p)
	}
	return packets
}

// mirrored returns n packets, each as often as change says how it is seen.
func mirrored(n, times int, change func(p *packet, again int)) (packets []packet) {
	for i := range n {
		for again := range times {
			p := packet{id: uint16(i + 500), flow: uint32(i % 9), payload: uint32(i), time: int64(i)*ms + int64(again)*10*us}
			change(&p, again)
			packets = append(packets, p)
		}
	}
	return packets
}

// TestLoops looks at packets that a network repeats, and finds no copies.
func TestLoops(t *testing.T) {
	udp, arp := packet{id: 7, flow: 1, payload: 5}, packet{arp: true, payload: 1}
	for _, c := range []struct {
		name    string
		packets []packet
		kind    string
		most    uint64
	}{
		{"a broadcast", repeated(3000, arp, 40*us), bridgingLoop, 3000},
		{"a broadcast in a slow loop", repeated(300, arp, 8*ms), bridgingLoop, 300},
		{"a numbered frame", repeated(20, udp, 30*ms), bridgingLoop, 20},
		{"a frame that is not numbered", repeated(100, packet{flow: 1}, 100*us), bridgingLoop, 100},
		{"routers", circling(60, udp, 500*us), RoutingLoop, 60},
		{"routers, few passes", circling(9, udp, 500*us), RoutingLoop, 9},
		{"routers far apart", circling(60, udp, 60*ms), RoutingLoop, 60},
		{"routers, a packet that is not numbered", circling(60, packet{flow: 1}, 20*ms), RoutingLoop, 60},
		{"routers behind tags", circling(30, packet{id: 9, vlan: 5, tcp: true}, ms), RoutingLoop, 30},
		{"a tunnel, whose stations are hidden", circling(60, packet{id: 9, vni: 5}, ms), RoutingLoop, 60},
	} {
		r := inspected(c.packets, 50)
		passes := uint64(len(c.packets))
		if r.Copies != 0 || len(r.Kinds)+len(r.Hops)+len(r.Matrix) != 0 || r.Recommendation.Dedup || r.Conclusion != Loops || len(r.Loops) != 1 {
			t.Errorf("%s: %+v", c.name, r)
			continue
		}
		l := &r.Loops[0]
		if l.Kind != c.kind || l.Most != c.most || l.Sightings != passes || l.Different != 1 || l.Packet != 1 || len(l.Stations) != 2 || !c.packets[0].arp && len(l.Hosts) != 2 {
			t.Errorf("%s: %+v", c.name, l)
		}
		if other := inspected(c.packets, 3); !slices.EqualFunc(r.Loops, other.Loops, func(a, b Loop) bool { return a.Sightings == b.Sightings && a.Every == b.Every }) {
			t.Errorf("%s: %v, %v", c.name, r.Loops, other.Loops)
		}
	}
}

// TestManyLoop looks at many packets in one loop, and at two loops.
func TestManyLoop(t *testing.T) {
	var packets []packet
	for i := range 50 {
		for _, p := range circling(60, packet{id: uint16(i + 1), flow: 1, payload: uint32(i)}, 500*us) {
			p.time += int64(i) * 100 * us
			packets = append(packets, p)
		}
	}
	packets = append(packets, repeated(100, packet{arp: true}, us)...)
	slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
	r := inspected(packets, 50)
	if len(r.Loops) != 2 || r.Loops[0].Different != 50 || r.Loops[0].Sightings != 3000 || r.Loops[1].Sightings != 100 || r.Looped != r.Equal || r.Copies != 0 {
		t.Errorf("%+v", r)
	}
}

// TestNoLoops looks at mirrors, and at senders that repeat packets.
func TestNoLoops(t *testing.T) {
	for times := 2; times <= fewPasses; times++ {
		for name, change := range map[string]func(p *packet, again int){
			"the same":         func(*packet, int) {},
			"VLANs":            func(p *packet, again int) { p.vlan = uint16(again) },
			"a path":           func(p *packet, again int) { p.ttl, p.mac = uint8(again), byte(again) },
			"both ends of it":  func(p *packet, again int) { p.ttl, p.mac = uint8(again/2), byte(again/2) },
			"a path in tunnel": func(p *packet, again int) { p.ttl, p.vni = uint8(again), 7 },
		} {
			r := inspected(mirrored(50, times, change), 50)
			if want := uint64(50 * (times - 1)); r.Copies != want || len(r.Loops) != 0 || !r.Recommendation.Dedup || r.Recommendation.Removes != want {
				t.Errorf("%s, %d times: %+v", name, times, r)
			}
		}
	}
	for name, packets := range map[string][]packet{
		"requests for addresses": repeated(200, packet{arp: true}, 100*ms),
		"keepalives":             repeated(200, packet{flow: 3}, 20*ms),
		"acknowledgments":        repeated(200, packet{flow: 3, tcp: true}, 10*us),
		"a long path":            mirrored(20, 16, func(p *packet, again int) { p.ttl, p.mac = uint8(again), byte(again) }),
		"traceroute": slices.Collect(func(yield func(packet) bool) {
			for i := range 30 {
				yield(packet{flow: 1, ttl: uint8(60 - i), time: int64(i) * 10 * ms})
			}
		}),
	} {
		if r := inspected(packets, 50); len(r.Loops) != 0 || r.Looped != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestLoopAmongCopies looks at a loop in a feed that has each packet twice.
func TestLoopAmongCopies(t *testing.T) {
	for name, loop := range map[string][]packet{
		"routers":     circling(60, packet{id: 7, flow: 1, payload: 5}, 500*us),
		"a broadcast": repeated(3000, packet{arp: true}, 40*us),
	} {
		packets := mirrored(1000, 2, func(p *packet, again int) { p.vlan = uint16(5 * again) })
		for _, p := range loop {
			packets = append(packets, p)
			p.vlan, p.time = 5, p.time+10*us
			packets = append(packets, p)
		}
		slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
		r := inspected(packets, 50)
		c := &r.Recommendation
		if r.Copies != 1000 || !maps.Equal(r.Kinds, map[string]uint64{"vlan": 1000}) || len(r.Loops) != 1 || r.Looped != uint64(2*len(loop)-1) || r.Conclusion != Copies {
			t.Errorf("%s: %+v", name, r)
		}
		if !c.Dedup || c.Removes != 1000+c.Looped || c.Wrong != c.Looped {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
