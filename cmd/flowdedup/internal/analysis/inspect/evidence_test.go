// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
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

// translatedPackets returns packets of a hundred hosts and their answers, each also behind a
// translation, which change turns into something else.
func translatedPackets(change func(p *packet, i int, behind bool)) (packets []packet) {
	for i := range 400 {
		p := packet{id: uint16(i + 1), flow: uint32(i / 4), payload: uint32(i), answer: i%2 == 1, time: int64(i) * ms}
		behind := p
		behind.flow, behind.ttl, behind.time = 200, 1, p.time+10*us
		if p.answer {
			p.ttl, behind.ttl = 1, 0
			p.time, behind.time = behind.time, p.time
		}
		change(&p, i, false)
		change(&behind, i, true)
		if p.time > behind.time {
			p, behind = behind, p
		}
		packets = append(packets, p, behind)
	}
	return packets
}

// TestTranslations looks at both sides of a translation.
func TestTranslations(t *testing.T) {
	packets := translatedPackets(func(*packet, int, bool) {})
	r := inspected(packets, 1000)
	c := &r.Recommendation
	if !maps.Equal(r.Kinds, map[string]uint64{"ttl+nat": 400}) || r.Copies != 400 || r.Equal != 400 || r.Routers != 1 {
		t.Errorf("%+v", r)
	}
	if !c.Dedup || c.Removes != 400 || c.Wrong != 0 || !slices.Equal(c.Ignore, []string{"nat"}) || c.Prefer != "not host 10.0.0.200" {
		t.Errorf("%+v", c)
	}
	if other := inspected(packets, 7); !reflect.DeepEqual(r, other) {
		t.Errorf("%+v\n%+v", r, other)
	}
}

// TestNoTranslations looks at packets that differ in addresses, as no translation makes them.
func TestNoTranslations(t *testing.T) {
	for name, change := range map[string]func(p *packet, i int, behind bool){
		"one sender, equal packets to several hosts": func(p *packet, _ int, _ bool) { p.ttl, p.answer = 0, true },
		"a translation that keeps times to live":     func(p *packet, _ int, _ bool) { p.ttl = 0 },
		"hosts at other distances, equal answers":    func(p *packet, _ int, behind bool) { p.answer, p.ttl = false, uint8(count(behind)) },
		"no router lies so far away":                 func(p *packet, _ int, _ bool) { p.ttl *= 31 },
		"too few translated ones": func(p *packet, i int, behind bool) {
			if behind && i > 130 {
				p.ttl, p.answer, p.flow = 0, true, 300
			}
		},
		"most with one time to live": func(p *packet, i int, behind bool) {
			if !behind {
				p.flow = 5
			}
			if i >= 150 {
				p.ttl = 0
			}
		},
		"other payload": func(p *packet, i int, behind bool) { p.payload += uint32(1000 * count(behind)) },
		"late":          func(p *packet, i int, behind bool) { p.time += int64(count(behind)) * 2000 * ms },
	} {
		packets := translatedPackets(change)
		slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
		if r := inspected(packets, 50); r.Copies != 0 || r.Recommendation.Dedup || len(r.NotCopies) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestHiddenTranslations looks at addresses behind tags and in tunnels, where a condition would not
// find them.
func TestHiddenTranslations(t *testing.T) {
	for name, change := range map[string]func(p *packet){
		"vlan":   func(p *packet) { p.vlan = 10 },
		"tunnel": func(p *packet) { p.vni = 7 },
	} {
		for _, side := range []bool{false, true} {
			packets := translatedPackets(func(p *packet, _ int, behind bool) {
				if behind == side {
					change(p)
				}
			})
			c := &inspected(packets, 50).Recommendation
			says := slices.ContainsFunc(c.Reasons, func(r string) bool { return strings.Contains(r, "give --prefer") })
			if c.Removes != 400 || c.Prefer != "" || !says {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// TestTranslatedSegments looks at a direction of TCP: three equal segments at least prove a
// translation.
func TestTranslatedSegments(t *testing.T) {
	for segments := uint64(2); segments <= 4; segments++ {
		packets := translatedPackets(func(p *packet, _ int, behind bool) { p.tcp, p.answer, p.ttl = true, false, uint8(count(behind)) })
		want := segments
		if segments < 3 {
			want = 0
		}
		if r := inspected(packets[:2*segments], 50); r.Copies != want || r.Recommendation.Removes != want {
			t.Errorf("%d segments: %+v", segments, r)
		}
	}
}

// TestTranslationsAmongOthers looks at translated packets, and at equal packets to several hosts,
// which the recommended command removes, too.
func TestTranslationsAmongOthers(t *testing.T) {
	packets := translatedPackets(func(p *packet, i int, behind bool) {
		if i%4 == 3 {
			p.ttl, p.answer = 0, true
			if behind {
				p.flow = 300
			}
		}
	})
	r := inspected(packets, 50)
	c := &r.Recommendation
	if r.Kinds["ttl+nat"] != 300 || r.Copies != 300 || r.NotCopies["udp"] != 100 || c.Removes != 400 || c.Wrong != 100 {
		t.Errorf("%+v", r)
	}
}

// TestTranslationsTwice looks at packets that come twice on both sides. Only one copy of four has
// other addresses than those that are found anyway.
func TestTranslationsTwice(t *testing.T) {
	var packets []packet
	for _, p := range translatedPackets(func(*packet, int, bool) {}) {
		again := p
		again.device, again.time = 1, p.time+us
		packets = append(packets, p, again)
	}
	r := inspected(packets, 50)
	if !maps.Equal(r.Kinds, map[string]uint64{"ttl+nat": 400, "interface": 800}) || r.Recommendation.Removes != 1200 {
		t.Errorf("%+v", r)
	}
}

// TestTranslationsRepeated looks at translated packets that their senders repeat later than the
// recommended window. It removes a copy of each.
func TestTranslationsRepeated(t *testing.T) {
	var packets []packet
	for _, p := range translatedPackets(func(*packet, int, bool) {}) {
		p.id = 0
		again := p
		again.time += 450 * ms
		packets = append(packets, p, again)
	}
	slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
	r := inspected(packets, 50)
	c := &r.Recommendation
	if r.Kinds["ttl+nat"] != 400 || r.NotCopies["udp"] != 800 || c.Window != time.Millisecond || c.Removes != 800 || c.Wrong != 0 {
		t.Errorf("%+v", r)
	}
}

// TestPortsAlone looks at hosts that send equal packets from several ports.
func TestPortsAlone(t *testing.T) {
	packets := translatedPackets(func(p *packet, _ int, behind bool) { p.tcp, p.flow, p.port = true, 5, uint16(count(behind)) })
	if r := inspected(packets, 50); r.Copies != 0 || r.Recommendation.Dedup {
		t.Errorf("%+v", r)
	}
}

// TestTranslationsSampled looks at more packets than are all measured: a translation at the
// beginning counts for its part of all packets, and later translations are not looked for.
func TestTranslationsSampled(t *testing.T) {
	one := translatedPackets(func(*packet, int, bool) {})
	var packets []packet
	for i := range 2 << allBits {
		p := one[i%len(one)]
		p.time += int64(i/len(one)) * 10_000 * ms
		packets = append(packets, p)
	}
	r := inspected(packets, 5000)
	if r.Kinds["ttl+nat"] != 1<<allBits || r.Recommendation.Removes != 1<<allBits {
		t.Errorf("%v, %+v", r.Kinds, r.Recommendation)
	}
	plain := packets[:2<<firstBits]
	for i := range plain[:1<<firstBits] {
		plain[i].ttl = 0
	}
	if r := inspected(plain, 5000); r.Copies != 0 {
		t.Errorf("%v", r.Kinds)
	}
}

// TestTriedByAnyKey looks at as many packets to two hosts as are remembered: whatever the key is, each is
// found again.
func TestTriedByAnyKey(t *testing.T) {
	const n = 1 << (firstBits - 1)
	var packets []packet
	for i := range 2 * n {
		packets = append(packets, packet{time: int64(i) * ms / 100, flow: 1, payload: uint32(i%n + 1), to: 0xac100001 + uint32(i/n)})
	}
	for key := range byte(4) {
		in := New(Config{Translations: true, Key: [16]byte{key}})
		p, b := in.NewBatch(), batchOf(packets)
		p.Prepare(b)
		in.Add(p, b)
		for _, one := range in.Report().Tried {
			if one.Ignore[0] == "nat" && (one.Packets != 2*n || one.Equal != n || one.Copies != 0) {
				t.Errorf("key %d: %+v", key, one)
			}
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestIsGroup checks which packets are to groups.
func TestIsGroup(t *testing.T) {
	for _, c := range []struct {
		version, at, to byte
		want            bool
	}{{0x45, 16, 223, false}, {0x45, 16, 224, true}, {0x45, 16, 255, true}, {0x60, 24, 0xfe, false}, {0x60, 24, 0xff, true}} {
		ip := make([]byte, 40)
		ip[0], ip[c.at] = c.version, c.to
		if _, dst := addressesOf(ip); isGroup(dst) != c.want {
			t.Errorf("%x, %x: %v", c.version, c.to, !c.want)
		}
	}
}

// TestTranslationsCut looks at packets that end anywhere, in their IP headers too. The later ones
// have other sources and times to live.
func TestTranslationsCut(t *testing.T) {
	six := append([]byte("............\x86\xdd\x60\x00\x00\x00\x00\x3c\x2c\x40"), make([]byte, 92)...)
	matches := 0
	for _, whole := range [][]byte{(&packet{id: 3}).bytes(), (&packet{id: 3, tcp: true}).bytes(), (&packet{vni: 7, id: 3}).bytes(), six} {
		for _, link := range []capture.LinkType{capture.LinkEthernet, capture.LinkRaw} {
			for size := 14; size <= len(whole); size++ {
				b := new(capture.Batch)
				it := b.AppendInterface(capture.Interface{LinkType: link})
				for i := range byte(2) {
					data := slices.Clone(whole[:size])
					for _, at := range []int{21, 22, 29} { // time to live, source
						data[min(at, size-1)] -= i
					}
					if link == capture.LinkRaw {
						data = data[14:]
					}
					b.Append(capture.Frame{Interface: it, Time: 1e18 + int64(i), WireLen: uint32(len(whole))}, data)
				}
				n := New(Config{Memory: 1 << 16, Translations: true})
				p := n.NewBatch()
				p.Prepare(b)
				n.Add(p, b)
				n.Report()
				matches += len(n.trials.list[0].matches)
				n.Close()
			}
		}
	}
	if matches == 0 {
		t.Error("none matches")
	}
}
