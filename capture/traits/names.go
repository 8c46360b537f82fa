// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// maxPoints bounds how many points have a number and a name of their own.
const maxPoints = 1024

// Names numbers the points of a stream from 1 on, and names them. All points beyond maxPoints share
// number 0.
type Names struct {
	inputs  []string
	numbers map[uint64]uint32
	names   []string
	last    uint64 // a cache, since packets of a point come in runs
	found   uint32
	known   bool
	decoder *headers.Decoder
	layers  []headers.Layer
}

// NewNames returns Names of a stream of several inputs with these names, by
// capture.Section.Input. A single input needs no name. tunnels are the UDP ports of tunnels; nil
// stands for the usual ports.
func NewNames(inputs []string, tunnels *headers.Tunnels) *Names {
	return &Names{
		inputs: inputs, numbers: map[uint64]uint32{}, names: []string{"other points"},
		decoder: headers.NewDecoder(headers.DecoderConfig{Inner: true, Tunnels: tunnels}),
	}
}

// Number returns the number of the point at which frame i of b was seen. place is a hash of
// the point. It allocates only for a new point.
func (p *Names) Number(place uint64, b *capture.Batch, i int) uint32 {
	if !p.known || p.last != place {
		p.last, p.found, p.known = place, p.find(place, b, i), true
	}
	return p.found
}

func (p *Names) find(place uint64, b *capture.Batch, i int) uint32 {
	if n, ok := p.numbers[place]; ok {
		return n
	}
	if len(p.names) > maxPoints {
		return 0
	}
	n := uint32(len(p.names))
	p.numbers[place] = n
	p.names = append(p.names, p.name(b, i))
	return n
}

// Name returns the name of a number.
func (p *Names) Name(n uint32) string { return p.names[n] }

// name returns the name of the point at which frame i of b was seen: "eth1 VLAN 10.20",
// "eth1 VXLAN 7001", "eth1 LAN A".
func (p *Names) name(b *capture.Batch, i int) string {
	var t strings.Builder
	t.WriteString(p.device(b, i))
	var vlans []string
	p.layers = p.decoder.Layers(p.layers[:0], b, i)
	for _, l := range p.layers {
		switch {
		case l.Kind == headers.LayerVLAN && l.ID != 0:
			vlans = append(vlans, strconv.Itoa(int(l.ID)))
		case layerFields[l.Kind] == PointVNI:
			t.WriteString(" " + strings.ToUpper(l.Kind.String()))
			if l.ID != 0 {
				t.WriteString(" " + strconv.Itoa(int(l.ID)))
			}
		}
	}
	if len(vlans) > 0 {
		t.WriteString(" VLAN " + strings.Join(vlans, "."))
	}
	if path, _ := headers.PathOf(b, i); path != headers.NoPath {
		t.WriteString(" " + path.String())
	}
	return cmp.Or(strings.TrimSpace(t.String()), "untagged")
}

// device names the interface of a frame. The interface of a single pcap file has no name.
func (p *Names) device(b *capture.Batch, i int) string {
	it := &b.Interfaces[b.Frames[i].Interface]
	name := it.Name
	if name == "" && b.Sections[it.Section].Format == capture.FormatPcapNG {
		name = fmt.Sprintf("interface %d", it.ID)
	}
	if index := CapturePointOf(b, i).Index; index != 0 {
		name = strings.TrimSpace(fmt.Sprintf("%s device %d", name, index))
	}
	input := b.Sections[it.Section].Input
	if len(p.inputs) > 1 && input < len(p.inputs) && name != filepath.Base(p.inputs[input]) {
		name = strings.TrimSpace(filepath.Base(p.inputs[input]) + " " + name)
	}
	return name
}
