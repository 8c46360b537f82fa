// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// redundant returns packets that a network of two paths has sent on both, without those lost
// on one of them. path sets the path of a packet.
func redundant(n int, path func(p *packet, second bool), lost func(i int, second bool) bool) (all []packet) {
	for i := range n {
		for _, second := range []bool{false, true} {
			p := packet{time: int64(i) * ms, id: uint16(i + 1), flow: uint32(i % 9), payload: uint32(i), sequence: uint16(i)}
			if second {
				p.time += 20 * us
			}
			if path(&p, second); !lost(i, second) {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b packet) int { return int(a.time - b.time) })
	return all
}

func onLAN(p *packet, second bool) {
	p.lan = 0xa
	if second {
		p.lan = 0xb
	}
}

func onRing(p *packet, second bool) {
	p.ring, p.group = 1, true
	if second {
		p.ring = 2
	}
}

// loses drops each nth frame of both paths, and never both copies of a frame.
func loses(first, second int) func(i int, second bool) bool {
	return func(i int, isSecond bool) bool {
		if isSecond {
			return i%second == 1
		}
		return i%first == 0
	}
}

// TestPaths counts what each path of a redundant network missed, where one interface sees
// both, and where each path has an interface of its own.
func TestPaths(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		name   string
		path   func(p *packet, second bool)
		want   []PathCount
		kind   string
		points [2]string
	}{
		{"PRP", onLAN, []PathCount{{"LAN A", 990, 10}, {"LAN B", 950, 50}}, "lan", [2]string{"a LAN A", "a LAN B"}},
		{"HSR", onRing, []PathCount{{"HSR A", 990, 10}, {"HSR B", 950, 50}}, "lan", [2]string{"a HSR path 0", "a HSR path 1"}},
		{"ARP", func(p *packet, second bool) {
			onLAN(p, second)
			p.arp, p.vlan = true, uint16(1+p.payload/250) // which has one byte of content
		}, []PathCount{{"LAN A", 990, 10}, {"LAN B", 950, 50}}, "lan", [2]string{"a LAN A VLAN 1", "a LAN B VLAN 1"}},
		{"two interfaces", func(p *packet, second bool) {
			onLAN(p, second)
			p.device = uint32(p.lan - 0xa)
		}, []PathCount{{"LAN A", 990, 10}, {"LAN B", 950, 50}}, "interface+lan", [2]string{"a LAN A", "b LAN B"}},
		{"unicast in a ring", func(p *packet, second bool) {
			onRing(p, second)
			p.group = false
		}, []PathCount{}, "lan", [2]string{"a HSR path 0", "a HSR path 1"}},
		{"no network", func(p *packet, second bool) { p.ttl = 3 }, []PathCount{}, "identical", [2]string{"a", "a"}},
	} {
		packets := redundant(n, c.path, loses(100, 20))
		for _, most := range []int{1, 300, 5000} {
			r := inspected(packets, most)
			if !slices.Equal(r.Paths, c.want) || !maps.Equal(r.Kinds, map[string]uint64{c.kind: 940}) {
				t.Fatalf("%s: paths %+v, kinds %v", c.name, r.Paths, r.Kinds)
			}
			if m := r.Matrix[0]; c.name != "ARP" && (m.First != c.points[0] || m.Copy != c.points[1] || m.Count != 940) {
				t.Fatalf("%s: matrix %+v", c.name, r.Matrix)
			}
		}
	}
}

// TestOnePath reports a path on which nothing came.
func TestOnePath(t *testing.T) {
	r := inspected(redundant(50, onLAN, func(_ int, second bool) bool { return second }), 20)
	if want := []PathCount{{"LAN A", 50, 0}, {"LAN B", 0, 50}}; !slices.Equal(r.Paths, want) || r.Copies != 0 {
		t.Errorf("paths %+v, %d copies", r.Paths, r.Copies)
	}
}

// TestRenumbered recognizes packets that a sender repeated by their numbers, however soon they
// come. With --across they stay.
func TestRenumbered(t *testing.T) {
	var packets []packet
	for i := range 300 {
		for k, lan := range []byte{0xa, 0xb, 0xa, 0xb} { // twice on each LAN
			packets = append(packets, packet{time: int64(i)*ms + int64(k)*10*us, arp: true, payload: uint32(i % 256), lan: lan, sequence: uint16(2*i + k/2)})
		}
	}
	r := inspected(packets, 100)
	if !maps.Equal(r.Kinds, map[string]uint64{"lan": 600}) || r.Equal != 1200-256 {
		t.Errorf("kinds %v, %d equal", r.Kinds, r.Equal)
	}
	if want := []PathCount{{"LAN A", 600, 0}, {"LAN B", 600, 0}}; !slices.Equal(r.Paths, want) {
		t.Errorf("paths %+v", r.Paths)
	}
	if r.NotCopies["arp"] != r.Equal-600 || r.Examples["arp"].What != "frame sent again" {
		t.Errorf("sent again: %+v", r.NotCopies)
	}
}

// TestManyPaths never counts a frame of the sample twice.
func TestManyPaths(t *testing.T) {
	packets := redundant(1<<allBits, func(p *packet, second bool) {
		onLAN(p, second)
		p.id, p.payload = uint16(p.time/ms)|1, uint32(p.time/ms)
	}, func(i int, second bool) bool { return second && i%4 == 0 })
	r := inspected(packets, 5000)
	frames, missed := float64(r.Paths[1].Frames), float64(r.Paths[1].Missed)
	if r.Sampled < 4 || r.Paths[0].Missed != 0 || missed/(frames+missed) < 0.24 || missed/(frames+missed) > 0.26 {
		t.Errorf("1 packet in %d: %+v", r.Sampled, r.Paths)
	}
}

// TestRouters says how many routers lie between points, unless times to live differ at
// random.
func TestRouters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		ttl  func(i int, second *packet) uint8 // hops after the first sighting
		want int
	}{
		{"one", func(int, *packet) uint8 { return 1 }, 1},
		{"three", func(int, *packet) uint8 { return 3 }, 3},
		{"as many as there may be", func(int, *packet) uint8 { return mostRouters }, mostRouters},
		{"none", func(int, *packet) uint8 { return 0 }, 0},
		{"more than there are", func(int, *packet) uint8 { return 54 }, 0},
		{"random", func(int, *packet) uint8 { return uint8(random.IntN(60)) }, 0},
		{"few and random", func(i int, _ *packet) uint8 { return uint8(max(random.IntN(600)-540, 0)) }, 0},
		{"mostly one", func(i int, _ *packet) uint8 { return uint8(1 + random.IntN(9)/7) }, 1},
		{"a point for each", func(i int, p *packet) uint8 { p.device = 1 + uint32(i%2); return uint8(2 + 3*min(i%4, 1)*(i%2)) }, 2},
		{"half of the points at random", func(i int, p *packet) uint8 {
			p.device = 1 + uint32(i%2)
			return uint8((1 + random.IntN(50)) * (i % 2))
		}, 0},
	} {
		var packets []packet
		for i := range 2000 {
			p := packet{time: int64(i) * ms, id: uint16(i + 1), payload: uint32(i)}
			second := p
			second.time += 5 * us
			second.ttl = c.ttl(i, &second)
			second.mac = 1
			packets = append(packets, p, second)
		}
		if r := inspected(packets, 700); r.Routers != c.want {
			t.Errorf("%s: %d routers, want %d, steps %v", c.name, r.Routers, c.want, r.Hops)
		}
	}
}

// TestStacked recommends to take off tags of 802.1ad where there are any, and copies.
func TestStacked(t *testing.T) {
	for _, c := range []struct {
		name   string
		every  int // packet with such a tag
		copies bool
		strip  bool
	}{{"all", 1, true, true}, {"some", 50, true, true}, {"hardly any", 2500, true, false}, {"no copies", 1, false, false}} {
		var packets []packet
		for i := range 2000 {
			p := packet{time: int64(i) * ms, id: uint16(i + 1), payload: uint32(i), vlan: 10, answer: i%2 == 1}
			if i%c.every == 0 {
				p.service = 100
			}
			if packets = append(packets, p); c.copies {
				p.device = 1
				packets = append(packets, p)
			}
		}
		r := inspected(packets, 700).Recommendation
		if slices.Contains(r.Strip, "vlan") != c.strip || strings.Contains(strings.Join(r.Reasons, "\n"), "802.1ad") != c.strip {
			t.Errorf("%s: %v, %q", c.name, r.Strip, r.Reasons)
		}
	}
}

// TestDevices keeps interfaces and paths apart, also of points beyond those with a number.
func TestDevices(t *testing.T) {
	n := New(Config{})
	defer n.Close()
	b := batchOf([]packet{{}, {device: 1, lan: 0xa}, {lan: 0xa}, {device: 1}, {lan: 0xb}})
	numbers := make([]uint32, len(b.Frames))
	n.devices.Number(numbers, b, 0)
	got := make([]uint32, len(numbers))
	for i, number := range numbers {
		got[i] = n.deviceOf(number)
	}
	const a, second = 0x2a << pathShift, 0x2b << pathShift
	if want := []uint32{0, 1 | a, a, 1, second}; !slices.Equal(got, want) || n.deviceOf(1<<16) != 1<<16 {
		t.Errorf("%x, want %x", got, want)
	}
}
