// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// onLinks returns a pcapng capture with an interface for each name, and a packet of each at each
// of the microseconds.
func onLinks(link uint16, names []string, times ...int) []byte {
	o := binary.LittleEndian
	out := capturetest.SectionBlock(o, 1, 0)
	for _, name := range names {
		var options [][]byte
		if name != "" {
			options = append(options, capturetest.Option(o, 2, []byte(name)...))
		}
		out = append(out, capturetest.InterfaceBlock(o, link, 0, options...)...)
	}
	for _, us := range times {
		for i := range names {
			out = append(out, capturetest.PacketBlock(o, uint32(i), uint64(us), 60, []byte{byte(i)})...)
		}
	}
	return out
}

// TestContinued checks which inputs continue others, by the number of the first capture point
// of each.
func TestContinued(t *testing.T) {
	pcap := func(times ...int) []byte { return timed(capture.FormatPcap, "p", times) }
	eth := func(times ...int) []byte { return onLinks(1, []string{"eth0"}, times...) }
	two := func(times ...int) []byte { return onLinks(1, []string{"eth0", "eth1"}, times...) }
	type input struct {
		name string
		data []byte
	}
	for name, c := range map[string]struct {
		inputs []input
		want   []int // by input: the first file of its rotation, -1 without packets
	}{
		"rotated":              {[]input{{"a1", pcap(1, 2)}, {"a2", pcap(3, 4)}, {"a3", pcap(5)}}, []int{0, 0, 0}},
		"rotated, one time":    {[]input{{"a1", pcap(1, 2)}, {"a2", pcap(2, 2)}, {"a3", pcap(2)}}, []int{0, 0, 0}},
		"overlapping":          {[]input{{"a1", pcap(1, 3)}, {"a2", pcap(2, 4)}}, []int{0, 1}},
		"whole one beside":     {[]input{{"a1", pcap(1, 2)}, {"b1", pcap(1, 9)}, {"a2", pcap(3, 8)}}, []int{0, 1, 0}},
		"two taps":             {[]input{{"tap-a-1", eth(1, 4)}, {"tap-a-2", eth(6, 9)}, {"tap-b-1", eth(2, 5)}, {"tap-b-2", eth(7, 8)}}, []int{0, 0, 2, 2}},
		"the one that ended":   {[]input{{"a", pcap(1, 4)}, {"b", pcap(2, 3)}, {"c", pcap(5, 6)}}, []int{0, 1, 0}},
		"continued once":       {[]input{{"a", pcap(1, 2)}, {"b", pcap(3, 5)}, {"c", pcap(4, 6)}}, []int{0, 0, 2}},
		"an empty file":        {[]input{{"a1", pcap(1, 2)}, {"a2", pcap()}, {"a3", pcap(3)}}, []int{0, -1, 0}},
		"two interfaces":       {[]input{{"a1", two(1, 2)}, {"a2", two(3, 4)}}, []int{0, 0}},
		"more interfaces":      {[]input{{"a1", eth(1, 2)}, {"a2", two(3, 4)}}, []int{0, 1}},
		"another interface":    {[]input{{"a1", eth(1, 2)}, {"a2", onLinks(1, []string{"eth1"}, 3)}}, []int{0, 1}},
		"another link type":    {[]input{{"a1", eth(1, 2)}, {"a2", onLinks(101, []string{"eth0"}, 3)}}, []int{0, 1}},
		"another format":       {[]input{{"a1", onLinks(1, []string{""}, 1)}, {"a2", pcap(3)}}, []int{0, 1}},
		"without a time":       {[]input{{"a1", eth(1, 2)}, {"a2", slices.Concat(eth(), capturetest.SimpleBlock(binary.LittleEndian, 1, []byte{9}))}}, []int{0, 1}},
		"the last has no time": {[]input{{"a1", slices.Concat(eth(1, 5), capturetest.SimpleBlock(binary.LittleEndian, 1, []byte{9}))}, {"a2", eth(4)}, {"a3", eth(5)}}, []int{0, 1, 0}},
	} {
		for joined, join := range map[string]func([]capture.Source) capture.Source{
			"Merge":  func(s []capture.Source) capture.Source { return Merge(s, nil) },
			"Concat": Concat,
		} {
			for _, chunk := range []int{1, 0} {
				var sources []capture.Source
				for _, in := range c.inputs {
					src, err := NewReader(bytes.NewReader(in.data), in.name, Options{ChunkSize: chunk})
					if err != nil {
						t.Fatal(err)
					}
					sources = append(sources, src)
				}
				src := join(sources)
				w := readAll(t, src)
				src.Close()
				points, got := pointsOf(w), make([]int, len(c.inputs))
				for i := range got {
					got[i] = -1
				}
				for _, p := range w.packets {
					input := w.secs[p.iface.Section].Input
					began := w.secs[w.ifaces[points[p.origin]].Section].Input
					if got[input] >= 0 && got[input] != began {
						t.Errorf("%s, %s: input %d has two origins", name, joined, input)
					}
					if got[input] = began; w.ifaces[points[p.origin]].ID != p.iface.ID {
						t.Errorf("%s, %s: interface %d goes on as %d", name, joined, w.ifaces[points[p.origin]].ID, p.iface.ID)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, %s, chunk %d: %v, want %v", name, joined, chunk, got, c.want)
				}
			}
		}
	}
}

// pointsOf returns an interface of each capture point.
func pointsOf(w whole) map[uint32]int {
	points := map[uint32]int{}
	for i := range w.ifaces {
		points[w.ifaces[i].CapturePoint] = i
	}
	return points
}
