// SPDX-License-Identifier: Apache-2.0

package count

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// pieces returns a stream of datagrams in fragments, IPv4 and IPv6, of several datagrams at a time, and
// its twin, in which each piece is a whole packet of its datagram's flow. The first fragment comes
// before the others, between or behind them, or never: then the twin has ports 0.
func pieces(rng *rand.Rand, datagrams int) (cut, whole *capture.Batch) {
	cut, whole = traffic(rng, 0, nil), traffic(rng, 0, nil)
	type datagram struct {
		six, tagged bool
		ends        [2]byte
		ports       uint32
		id          uint32
		piece, last int
		turn        int // by how many pieces the first piece comes later
		orphan      bool
	}
	put := func(b *capture.Batch, d *datagram, fragment, ports uint32) {
		frame := make([]byte, 12, 120)
		if d.tagged {
			frame = append(frame, 0x81, 0, 0, 7)
		}
		payload := append(binary.BigEndian.AppendUint32(nil, ports), make([]byte, 28)...)
		if d.six {
			ip := make([]byte, 40)
			ip[0], ip[5], ip[6], ip[7], ip[23], ip[39] = 0x60, byte(len(payload)), 17, 64, d.ends[0], d.ends[1]
			if fragment != 0 {
				ip[5], ip[6] = ip[5]+8, 44
				ip = append(ip, 17, 0, byte(fragment>>8), byte(fragment))
				ip = binary.BigEndian.AppendUint32(ip, d.id)
			}
			frame = append(append(append(frame, 0x86, 0xdd), ip...), payload...)
		} else {
			ip := make([]byte, 20)
			ip[0], ip[3], ip[8], ip[9], ip[15], ip[19] = 0x45, byte(20+len(payload)), 64, 17, d.ends[0], d.ends[1]
			binary.BigEndian.PutUint16(ip[4:], uint16(d.id))
			binary.BigEndian.PutUint16(ip[6:], uint16(fragment&1<<13|fragment>>3))
			frame = append(append(append(frame, 0x08, 0x00), ip...), payload...)
		}
		b.Frames = append(b.Frames, capture.Frame{
			Time: 1e18 + int64(len(b.Frames)), Data: uint32(len(b.Buf)), CapLen: uint32(len(frame)), WireLen: uint32(len(frame)),
		})
		b.Buf = append(b.Buf, frame...)
	}
	var open []*datagram
	for id := uint32(0); id < uint32(datagrams) || len(open) > 0; {
		if id < uint32(datagrams) && (len(open) == 0 || rng.IntN(3) == 0) {
			id++
			open = append(open, &datagram{
				six: rng.IntN(3) == 0, tagged: rng.IntN(4) == 0, ends: [2]byte{byte(rng.IntN(9)), byte(rng.IntN(9))},
				ports: uint32(1+rng.IntN(5))<<16 | uint32(1+rng.IntN(5)), id: id, last: rng.IntN(4), orphan: rng.IntN(8) == 0,
			})
			if d := open[len(open)-1]; rng.IntN(2) == 0 {
				d.turn = rng.IntN(d.last + 1)
			}
		}
		n := rng.IntN(len(open))
		d := open[n]
		piece := d.piece // of 1, 2, 0, 3 with a turn of 2
		switch {
		case piece < d.turn:
			piece++
		case piece == d.turn:
			piece = 0
		}
		fragment, ports := uint32(piece*32), d.ports // of 8 bytes, above three bits of flags
		if piece < d.last {
			fragment |= 1
		}
		if piece > 0 && d.orphan {
			ports = 0
		}
		if piece > 0 || !d.orphan {
			put(cut, d, fragment, map[bool]uint32{true: d.ports, false: 0xffff_ffff}[piece == 0])
			put(whole, d, 0, ports)
		}
		if d.piece++; d.piece > d.last {
			open = append(open[:n], open[n+1:]...)
		}
	}
	return cut, whole
}

// TestJoin counts and lists a stream in fragments as its twin of whole packets, in batches of any
// size, with keys that imply others and by themselves.
func TestJoin(t *testing.T) {
	for seed, configs := range [][]keys.Config{
		{{Kind: keys.Flow}},
		{{Kind: keys.Biflow}},
		{{Kind: keys.Flow}, {Kind: keys.Pair}, {Kind: keys.Biflow}, {Kind: keys.Src}, {Kind: keys.IP}},
		{{Kind: keys.Biflow, Mask4: 30, Mask6: 127}, {Kind: keys.Flow, VLAN: true}},
		{{Kind: keys.Flow, VLAN: true, Mask4: 31}, {Kind: keys.Dst, VLAN: true}, {Kind: keys.Biflow}},
	} {
		for kind, list := range []bool{false, true, false, false, false} {
			t.Run(fmt.Sprint(seed, kind), func(t *testing.T) {
				cut, whole := pieces(rand.New(rand.NewPCG(uint64(seed), 4)), 600)
				var results [2][]Row
				var listed [2][]Sighting
				for i, b := range []*capture.Batch{cut, whole} {
					cfg := Config{Keys: configs, Config: windows.Config{Method: "auto", FPR: 1e-9, Secret: engine.Secret{1}}}
					switch kind {
					case 2:
						cfg.Total = true
					case 3:
						cfg.Past = time.Minute
					case 4:
						cfg.Slide, cfg.Window = time.Minute, time.Hour
					}
					if list {
						cfg.FirstSeen = func(s *First) error {
							listed[i] = append(listed[i], *s.Sighting())
							return nil
						}
					}
					var past []windows.Count
					results[i], past = counts(t, cfg, b)
					for n := range past {
						results[i] = append(results[i], Row{Distinct: past[n].Distinct, Counted: Counted{Of: past[n].Key, Family: past[n].Family}})
					}
				}
				if !reflect.DeepEqual(results[0], results[1]) || len(results[0]) == 0 {
					t.Errorf("%+v\n%+v", results[0], results[1])
				}
				for _, all := range listed { // fragments that wait come behind others of their flow
					slices.SortFunc(all, func(a, b Sighting) int { return strings.Compare(a.Of+a.Value, b.Of+b.Value) })
					for i := range all {
						all[i].FirstSeen = nil
					}
				}
				if !reflect.DeepEqual(listed[0], listed[1]) || list != (len(listed[0]) > 0) {
					t.Errorf("%d and %d sightings", len(listed[0]), len(listed[1]))
				}
			})
		}
	}
}
