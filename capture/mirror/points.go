// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"net/netip"
	"sync"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// maxPoints bounds how many capture points there are: whoever can send datagrams can invent
// more. Each target has an equal share of them, which no other can take. Packets of further
// points share a point.
const maxPoints = 4096

// origin is where packets were seen.
type origin struct {
	target int
	kind   headers.LayerKind // 0 for TZSP and datagrams
	id     uint32
	from   netip.Addr // the sender, for TZSP
}

// name names the interface of a point.
func (p *origin) name(scheme string) string {
	switch {
	case p.shared():
		return scheme + " (others)"
	case p.kind == 0 && !p.from.IsValid():
		return scheme
	case p.kind == 0:
		return scheme + ":" + p.from.String()
	}
	return headers.TunnelName(p.kind, p.id)
}

// shared reports whether it is the point that many share.
func (p *origin) shared() bool { return p.id == sharedID }

// sharedID is the identifier of the shared point. Of all headers, only GRE has room for it, as
// its key.
const sharedID = 1<<32 - 1

// pointTable numbers points, and interfaces: the link types of each point.
type pointTable struct {
	targets []Target
	snapLen int

	mu     sync.RWMutex
	points map[origin]uint32
	counts []int // of the points, by target
	ifaces map[iface]uint32
	list   []capture.Interface
}

type iface struct {
	point origin
	link  capture.LinkType
}

func newTable(targets []Target, snapLen int) *pointTable {
	return &pointTable{targets: targets, snapLen: snapLen, points: map[origin]uint32{}, counts: make([]int, len(targets)), ifaces: map[iface]uint32{}}
}

// all returns the interfaces so far. Later calls do not change it.
func (t *pointTable) all() []capture.Interface {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[:len(t.list):len(t.list)]
}

// find returns the number of an interface, which it adds if it is new.
func (t *pointTable) find(at iface) uint32 {
	t.mu.RLock()
	n, ok := t.ifaces[at]
	t.mu.RUnlock()
	if ok {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(at)
}

func (t *pointTable) add(at iface) uint32 {
	if n, ok := t.ifaces[at]; ok {
		return n
	}
	number, ok := t.points[at.point]
	if !ok && t.counts[at.point.target] >= maxPoints/len(t.targets) && !at.point.shared() {
		return t.add(iface{origin{target: at.point.target, kind: at.point.kind, id: sharedID}, at.link})
	}
	if !ok {
		number = uint32(len(t.points))
		t.points[at.point] = number
		t.counts[at.point.target]++
	}
	n := uint32(len(t.list))
	t.ifaces[at] = n
	t.list = append(t.list, capture.Interface{
		ID: n, CapturePoint: number, Name: at.point.name(t.targets[at.point.target].kind.scheme), LinkType: at.link,
		SnapLen: uint32(t.snapLen), TicksPerSecond: 1e9, Derived: true,
	})
	return n
}

// count returns how many points a target has.
func (t *pointTable) count(target int) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.counts[target]
}
