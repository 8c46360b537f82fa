// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sort"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// A network in which a packet goes in circles repeats it: no mirror does. A bridging loop repeats the
// same frame, as does a sender that makes a storm of it. A routing loop lowers its time to live with
// each pass, until that ends it. Mirrors along a path lower it, too, but no two of them lie between
// the same stations.

// Loop counts packets that came many times between the same stations.
type Loop struct {
	// Kind is "bridging" for the same frame again and again, which may be a storm, or "routing" for
	// a time to live that falls.
	Kind string `json:"kind"`
	// Stations are hardware addresses, and Hosts addresses of IP, of the first such packet.
	Stations []string `json:"stations"`
	Hosts    []string `json:"hosts"`
	// Different is the number of different packets, Sightings how often they came together, and Most
	// how often the most frequent packet came.
	Different uint64 `json:"different"`
	Sightings uint64 `json:"sightings"`
	Most      uint64 `json:"most_sightings"`
	// Every is the mean time between two sightings of a packet, in nanoseconds.
	Every int64 `json:"every_ns"`
	// Packet is the number of the first of them in the stream, and What its protocol.
	Packet uint64 `json:"packet"`
	What   string `json:"protocol"`
}

// RoutingLoop is the kind of a loop in which the time to live falls.
const RoutingLoop = "routing"

// bridgingLoop is the kind of all other loops, and of storms.
const bridgingLoop = "bridging"

const (
	// fewPasses is how often a packet comes at most without a loop: mirrors of both sides of four
	// switches or routers.
	fewPasses = 8
	// fewSent is how often senders repeat a frame at most, within a window each, if they do not
	// number their packets.
	fewSent = 32
	// fewSteps is how many times to live a packet has at a place at most without a loop, and
	// fewStepsInTunnels the same where the stations are hidden.
	fewSteps          = 3
	fewStepsInTunnels = 7
	// mostPasses bounds how many passes are looked at to recognize a loop.
	mostPasses = 256
	// maxLoops bounds the loops that are counted apart.
	maxLoops = 64
)

// loops counts packets in loops, by kind and stations.
type loops struct {
	numbers map[string]int
	list    []loopCounts
}

// loopCounts counts a loop. Together the gaps between sightings take that many nanoseconds.
type loopCounts struct {
	Loop
	gaps, taken uint64
}

// loopsIn looks for a loop that ends with x, an event of frame i of b, and counts its passes. previous
// is the event before it, or nil.
func (m *measure) loopsIn(x, previous *event, s *sighting, b *capture.Batch, i int) {
	if previous == nil {
		return
	}
	if previous.loop != 0 && distance(previous.time, x.time) <= uint64(m.owner.cfg.Window) {
		m.pass(x, previous, int(previous.loop-1))
		return
	}
	if x.run < fewPasses {
		return
	}
	kind, passes := bridgingLoop, m.bridged(x, s)
	if passes == 0 {
		kind, passes = RoutingLoop, m.routed(x, s)
	}
	if passes == 0 {
		return
	}
	loop := m.loops.number(m.newLoop(kind, b, i, s))
	all := make([]*event, 0, passes)
	for p := x; len(all) < passes; p = m.trail.before(p) {
		all = append(all, p)
	}
	slices.Reverse(all)
	l := &m.loops.list[loop]
	l.Different += s.weight()
	l.Sightings += s.weight() // the first sighting is no event
	if l.Packet == 0 || all[0].earlier < l.Packet {
		l.Packet = all[0].earlier
	}
	for _, p := range all {
		m.pass(p, m.trail.before(p), loop)
	}
}

// pass counts x as a pass of a loop, and not as what it was counted as before.
func (m *measure) pass(x, previous *event, loop int) {
	m.recount(x, -uint64(x.weight))
	x.loop, x.sort, x.passes = uint32(loop+1), loopedPacket, 2
	if previous != nil && previous.loop != 0 {
		x.passes = previous.passes + 1
	}
	m.same.add(x, uint64(x.weight), "in a loop or a storm")
	l := &m.loops.list[loop]
	l.Sightings += uint64(x.weight)
	l.Most = max(l.Most, uint64(x.passes))
	l.gaps++
	if previous != nil {
		l.taken += distance(x.time, previous.time)
	} else {
		l.taken += x.delay
	}
}

// missed counts s for a loop of the packets of e, of which the first sighting lies too far back.
func (m *measure) missed(e *entry, s *sighting) {
	if x := m.trail.last(e); x != nil && x.loop != 0 {
		l := &m.loops.list[x.loop-1]
		x.passes++
		l.Sightings += s.weight()
		l.Most = max(l.Most, uint64(x.passes))
	}
}

// pace is the longest time between two passes of x in a bridging loop. Senders do not repeat packets
// that they number so fast, nor requests for addresses.
func (m *measure) pace(x *event, s *sighting) uint64 {
	window := 0
	switch {
	case s.flags&numbered != 0:
		window = 2
	case x.proto == protocolKey{headers.NonIP, typeARP}:
		window = 1
	}
	return uint64(m.owner.windows[window])
}

const typeARP = 0x0806

// bridged returns how many events up to x are passes of a bridging loop, 0 for none.
func (m *measure) bridged(x *event, s *sighting) (passes int) {
	few := fewSent
	if s.flags&numbered != 0 {
		few = fewPasses
	} else if s.proto == protoTCP && s.payload == 0 {
		return 0 // acknowledgments repeat
	}
	pace, here := m.pace(x, s), 0
	for p := x; p != nil && passes < mostPasses; p = m.trail.before(p) {
		if passes++; p.place == x.place && p.hops == x.hops {
			here++
		}
		before := m.trail.before(p)
		if before == nil || distance(p.time, before.time) > pace {
			break
		}
	}
	if here < few {
		return 0
	}
	return passes
}

// routed returns how many events up to x are passes of a routing loop, 0 for none.
func (m *measure) routed(x *event, s *sighting) (passes int) {
	few := fewSteps
	if s.mac == 0 || s.flags&tunneled != 0 {
		few = fewStepsInTunnels
	}
	steps, highest := 0, x.hops
	for p := x; p != nil && passes < mostPasses && p.hops >= highest; p = m.trail.before(p) {
		passes++
		if p.place == x.place && p.hops > highest {
			steps++
		}
		if p.place == x.place {
			highest = p.hops
		}
		before := m.trail.before(p)
		if before == nil || distance(p.time, before.time) > uint64(m.owner.cfg.Window) {
			break
		}
	}
	if steps < few || passes < fewPasses {
		return 0
	}
	return passes
}

// number returns the number of the loop of a kind and stations, which is l if it is new. Loops beyond
// a bound are counted with the first loop of their kind.
func (n *loops) number(l Loop) int {
	key := fmt.Sprint(l.Kind, l.Stations, l.Hosts)
	number, ok := n.numbers[key]
	if ok {
		return number
	}
	if len(n.list) >= maxLoops {
		return max(slices.IndexFunc(n.list, func(o loopCounts) bool { return o.Kind == l.Kind }), 0)
	}
	n.numbers[key] = len(n.list)
	n.list = append(n.list, loopCounts{Loop: l})
	return len(n.list) - 1
}

// newLoop returns a Loop of frame i of b, without counts.
func (m *measure) newLoop(kind string, b *capture.Batch, i int, s *sighting) Loop {
	l := Loop{Kind: kind, Stations: []string{}, Hosts: []string{}}
	var one [1]headers.Header
	d := headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: m.owner.cfg.Tunnels})
	part := *b
	part.Frames = b.Frames[i : i+1]
	d.Decode(one[:], &part, 0)
	h, data := &one[0], part.Data(0)
	behind := 0
	for _, layer := range d.Layers(nil, &part, 0) {
		switch {
		case layer.Kind == headers.LayerEthernet && int(layer.Start)+ethernetLen <= len(data):
			l.Stations = sorted(stationOf(data[layer.Start:]), stationOf(data[layer.Start+6:]))
			behind = int(layer.Start) + ethernetLen
		case layer.Kind == headers.LayerVLAN:
			behind = int(layer.End)
		}
	}
	key := protocolKey{proto: s.proto}
	if s.proto == headers.NonIP {
		key.ether = etherType(data)
		l.Hosts = arpHosts(data[min(behind, len(data)):])
	} else {
		src, dst := addressesOf(data[h.Start:])
		l.Hosts = sorted(addressText(src), addressText(dst))
	}
	l.What = key.String()
	return l
}

func sorted(words ...string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

// stationOf returns a hardware address as text.
func stationOf(a []byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

func addressText(a []byte) string {
	address, _ := netip.AddrFromSlice(a)
	return address.String()
}

// arpHosts returns the hosts of an ARP packet for IPv4 over Ethernet (RFC 826), none of others.
func arpHosts(arp []byte) []string {
	const size, sender, target = 28, 14, 24
	if len(arp) < size || binary.BigEndian.Uint64(arp)>>16 != 0x0001_0800_0604 {
		return []string{}
	}
	return sorted(addressText(arp[sender:sender+4]), addressText(arp[target:target+4]))
}

// report lists the loops, with the most sightings first.
func (n *loops) report() []Loop {
	all := []Loop{}
	for i := range n.list {
		l := n.list[i].Loop
		l.Every = int64(n.list[i].taken / max(n.list[i].gaps, 1))
		all = append(all, l)
	}
	sort.SliceStable(all, func(i, k int) bool { return all[i].Sightings > all[k].Sightings })
	return all
}

func (n *loops) clone() loops { return loops{maps.Clone(n.numbers), slices.Clone(n.list)} }
