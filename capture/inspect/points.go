package inspect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// maxPoints bounds how many points have a number and a name of their own. All others
// share number 0.
const maxPoints = 1024

// points number the points of a stream: interfaces, with the VLAN tags and the tunnels of
// their packets.
type points struct {
	inputs  []string
	numbers map[uint64]uint32
	names   []string
	counts  []uint64
	last    uint64 // a cache, since packets of one point come in runs
	found   uint32
	known   bool
	decoder *flow.Decoder
	layers  []flow.Layer
}

func newPoints(inputs []string) points {
	return points{
		inputs: inputs, numbers: map[uint64]uint32{}, names: []string{"other points"}, counts: make([]uint64, 1),
		decoder: flow.NewDecoder(flow.DecoderConfig{Inner: true}),
	}
}

// number returns the number of a place, at which frame i of b was seen, and counts it.
func (p *points) number(place, weight uint64, b *capture.Batch, i int) uint32 {
	if !p.known || p.last != place {
		p.last, p.found, p.known = place, p.find(place, b, i), true
	}
	p.counts[p.found] += weight
	return p.found
}

func (p *points) find(place uint64, b *capture.Batch, i int) uint32 {
	if n, ok := p.numbers[place]; ok {
		return n
	}
	if len(p.names) > maxPoints {
		return 0
	}
	n := uint32(len(p.names))
	p.numbers[place] = n
	p.names, p.counts = append(p.names, p.name(b, i)), append(p.counts, 0)
	return n
}

// name returns the name of the point at which frame i of b was seen: "eth1 VLAN 10.20",
// "eth1 VXLAN 7001".
func (p *points) name(b *capture.Batch, i int) string {
	var t strings.Builder
	t.WriteString(p.device(b, i))
	var vlans []string
	p.layers = p.decoder.Layers(p.layers[:0], b, i)
	for _, l := range p.layers {
		switch {
		case l.Kind == flow.LayerVLAN && l.ID != 0:
			vlans = append(vlans, strconv.Itoa(int(l.ID)))
		case isPoint(l.Kind) && diffs.HasLabel(l.Kind):
			t.WriteString(" " + strings.ToUpper(l.Kind.String()))
			if l.ID != 0 {
				t.WriteString(" " + strconv.Itoa(int(l.ID)))
			}
		}
	}
	if len(vlans) > 0 {
		t.WriteString(" VLAN " + strings.Join(vlans, "."))
	}
	return cmp.Or(strings.TrimSpace(t.String()), "untagged")
}

// device names the interface of a frame. That of a single pcap file has no name.
func (p *points) device(b *capture.Batch, i int) string {
	it := &b.Interfaces[b.Frames[i].Interface]
	name := it.Name
	if name == "" && b.Sections[it.Section].Format == capture.FormatPcapNG {
		name = fmt.Sprintf("interface %d", it.ID)
	}
	if index := flow.CapturePointOf(b, i).Index; index != 0 {
		name = strings.TrimSpace(fmt.Sprintf("%s device %d", name, index))
	}
	input := b.Sections[it.Section].Input
	if len(p.inputs) > 1 && input < len(p.inputs) && name != filepath.Base(p.inputs[input]) {
		name = strings.TrimSpace(filepath.Base(p.inputs[input]) + " " + name)
	}
	return name
}
