// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/window"
)

// mirrored is a stream of UDP packets that a trunk port shows twice: as they come to the
// router, and as they leave it, in the VLANs of the two sides. The conversation and number
// of each are in its payload.
type mirrored struct {
	capture.Source
	rng     *rand.Rand
	lossy   bool // every tenth copy from home is lost
	packets int
	next    int
	table   capture.Batch
}

// mirroredPacket is a packet as its payload says.
type mirroredPacket struct{ conversation, number uint32 }

// The frame: Ethernet with a tag, IPv4, UDP, payload.
const (
	vlanAt    = 14
	ipAt      = 18
	payloadAt = ipAt + 28
)

// frame appends a packet as it is seen in a VLAN.
func (m *mirrored) frame(b *capture.Batch, p mirroredPacket, vlan uint16, back bool, delay time.Duration) {
	data := make([]byte, payloadAt+8+400)
	binary.BigEndian.PutUint16(data[12:], 0x8100)
	binary.BigEndian.PutUint16(data[vlanAt:], vlan)
	binary.BigEndian.PutUint16(data[16:], 0x0800)
	ip := data[ipAt:]
	ip[0], ip[8], ip[9] = 0x45, 64-byte(vlan/10), 17
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	from, to := ip[12:], ip[16:]
	if back {
		from, to = to, from
	}
	binary.BigEndian.PutUint32(from, 10<<24|p.conversation)
	binary.BigEndian.PutUint32(to, 11<<24|1)
	binary.BigEndian.PutUint16(ip[24:], uint16(len(ip)-20))
	binary.BigEndian.PutUint32(ip[28:], p.conversation)
	binary.BigEndian.PutUint32(ip[32:], p.number)
	b.Append(capture.Frame{Time: int64(p.number)*10_000 + int64(delay)}, data)
}

// Next returns a batch of random length.
func (m *mirrored) Next(b *capture.Batch) error {
	b.Reset()
	if m.next >= m.packets {
		return io.EOF
	}
	if m.table.Interfaces == nil {
		m.table.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	}
	b.Interfaces, b.Sections = m.table.Interfaces, m.table.Sections
	for range m.rng.IntN(400) {
		p := mirroredPacket{uint32(m.rng.IntN(50)), uint32(m.next)}
		home, back := uint16(10+10*(p.conversation%2)), m.rng.IntN(2) == 0
		vlans := []uint16{10, 20}
		if back {
			vlans = []uint16{20, 10}
		}
		for i, vlan := range vlans {
			if m.next > 500 && vlan == home && m.lossy && m.next%10 == 0 {
				continue
			}
			if m.next <= 500 && vlan != home && i == 0 {
				continue // the first packet is from home
			}
			m.frame(b, p, vlan, back, time.Duration(i)*3*time.Microsecond)
		}
		m.next++
	}
	return nil
}

func (m *mirrored) Close() error { return nil }

// kept is a writer that notes in which VLAN each packet stays.
type kept struct {
	packets []mirroredPacket
	vlans   []uint16
}

func (w *kept) Write(b *capture.Batch, drop []uint64) error {
	return eachKept(b, drop, func(i int) {
		data := b.Data(i)
		w.packets = append(w.packets, mirroredPacket{binary.BigEndian.Uint32(data[payloadAt:]), binary.BigEndian.Uint32(data[payloadAt+4:])})
		w.vlans = append(w.vlans, binary.BigEndian.Uint16(data[vlanAt:]))
	})
}

// TestKeepFlow keeps each packet once, in order, and from home unless it was lost there,
// with any number of workers.
func TestKeepFlow(t *testing.T) {
	const packets = 20_000
	for _, lossy := range []bool{false, true} {
		for workers := 1; workers <= 4; workers++ {
			var w kept
			p := pipeline.New(&mirrored{rng: rand.New(rand.NewPCG(1, uint64(workers))), packets: packets, lossy: lossy})
			d := detector(t, dedup.Config{Hold: hold.Config{Flow: true}})
			if err := p.Run(context.Background(), workers, d.Tasks(&w)); err != nil {
				t.Fatal(err)
			}
			for i, p := range w.packets {
				lost := lossy && i > 500 && i%10 == 0
				if home := uint16(10 + 10*(p.conversation%2)); int(p.number) != i || (w.vlans[i] != home) != lost {
					t.Fatalf("%d workers: place %d: packet %d of conversation %d is from VLAN %d", workers, i, p.number, p.conversation, w.vlans[i])
				}
			}
			if len(w.packets) < packets {
				t.Errorf("%d workers: %d packets of %d", workers, len(w.packets), packets)
			}
		}
	}
}

// TestKeepFlowCaptures keeps as many packets of real captures as without, with any number
// of workers, and splits fewer conversations.
func TestKeepFlowCaptures(t *testing.T) {
	eachTruth(t, func(t *testing.T, want *truth) {
		var first splitCounter
		run := func(w *splitCounter, flow bool, workers int) {
			cfg := want.config()
			cfg.Hold.Flow = flow
			if err := pipeline.New(want.open(t)).Run(context.Background(), workers, detector(t, cfg).Tasks(w)); err != nil {
				t.Fatal(err)
			}
		}
		run(&first, false, 1)
		var before []int
		for _, workers := range []int{1, 2, 4} {
			var w splitCounter
			run(&w, true, workers)
			if len(w.drop) != len(first.drop) || w.splits() > 0 || before != nil && !slices.Equal(w.drop, before) {
				t.Errorf("%d workers: %d dropped, %d split; first: %d dropped, %d split", workers, len(w.drop), w.splits(), len(first.drop), first.splits())
			}
			before = w.drop
		}
	})
}

// splitCounter is a writer that notes at how many points the packets of conversations stay.
type splitCounter struct {
	dropped
	points map[[2]uint64]bool
}

func (w *splitCounter) Write(b *capture.Batch, drop []uint64) error {
	if w.points == nil {
		w.points = map[[2]uint64]bool{}
	}
	s := traits.NewSightingReader(traits.SightingConfig{Fields: traits.PointVLAN | traits.PointInterface}).Read(b, 0, len(b.Frames))
	_ = eachKept(b, drop, func(i int) {
		if s.Conversation[i] != 0 {
			w.points[[2]uint64{s.Conversation[i], s.Point[i]}] = true
		}
	})
	return w.dropped.Write(b, drop)
}

// splits returns how many conversations were kept from several points.
func (w *splitCounter) splits() (n int) {
	points := map[uint64]int{}
	for p := range w.points {
		if points[p[0]]++; points[p[0]] == 2 {
			n++
		}
	}
	return n
}

// TestKeepFlowUndisturbed keeps the first where nothing is better.
func TestKeepFlowUndisturbed(t *testing.T) {
	want := truth{Files: []string{"loopback.pcap"}, Window: time.Millisecond}
	var got, first dropped
	for flow, w := range map[bool]*dropped{false: &first, true: &got} {
		cfg := dedup.Config{Hold: hold.Config{Flow: flow, For: time.Hour}, Window: window.Window{None: true}}
		if err := pipeline.New(want.open(t)).Run(context.Background(), 2, detector(t, cfg).Tasks(w)); err != nil {
			t.Fatal(err)
		}
	}
	if got.n == 0 || !slices.Equal(got.drop, first.drop) {
		t.Errorf("%d packets, dropped %v, want %v", got.n, got.drop, first.drop)
	}
}
