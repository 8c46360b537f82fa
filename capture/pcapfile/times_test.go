// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// instant is a time as a pcap record has it.
type instant struct{ seconds, fraction uint32 }

// TestTimes says which times cannot be right, once for each input.
func TestTimes(t *testing.T) {
	same := func(at instant, n int) (all []instant) {
		for range n {
			all = append(all, at)
		}
		return all
	}
	for _, c := range []struct {
		name    string
		magic   uint32
		times   []instant
		untimed int
		note    string // part of it, "" for none
	}{
		{"sound", magicMicroseconds, []instant{{1, 0}, {1, 999_999}, {2, 0}}, 0, ""},
		{"one packet at 0", magicMicroseconds, same(instant{}, 1), 0, ""},
		{"a fraction above", magicMicroseconds, []instant{{1, 0}, {1, 1_000_000}, {2, 0}}, 1, "above 999999, as 1 of the first 3"},
		{"nanoseconds", magicMicroseconds, []instant{{1, 0}, {1, 200_000_000}, {1, 400_000_000}}, 2, "most likely these are nanoseconds"},
		{"nanoseconds as such", magicNanoseconds, []instant{{1, 0}, {1, 999_999_999}, {2, 0}}, 0, ""},
		{"more nanoseconds than a second has", magicNanoseconds, []instant{{1, 0}, {1, 1_000_000_000}}, 1, "above 999999999, as 1 of the first 2"},
		{"all at 0", magicMicroseconds, same(instant{0, 0}, 2), 0, "all 2 packets have the same time"},
		{"all at once", magicMicroseconds, same(instant{7, 7}, 10), 0, "all 10 packets have the same time"},
		{"few at once", magicMicroseconds, same(instant{7, 7}, 9), 0, ""},
		{"but for the last", magicMicroseconds, append(same(instant{7, 7}, 9), instant{7, 8}), 0, ""},
		{"none is a time", magicMicroseconds, same(instant{7, 1_000_000}, 10), 10, "10 of the first 10"},
	} {
		for _, order := range []capturetest.Order{binary.LittleEndian, binary.BigEndian} {
			data := capturetest.PcapHeader(order, c.magic, 2, 4, 65535, 1)
			for _, at := range c.times {
				data = append(capturetest.PcapRecord(data, order, at.seconds, at.fraction, 14, 14), "destinsourcetp"...)
			}
			var notes []error
			src, err := NewReader(bytes.NewReader(data), "in.pcap", Options{ChunkSize: 64, Note: func(err error) { notes = append(notes, err) }})
			if err != nil {
				t.Fatal(err)
			}
			untimed := 0
			for _, p := range capturetest.PacketsOf(t, src) {
				if p.Time == capture.NoTime {
					untimed++
				}
			}
			var timesError *TimesError
			switch {
			case untimed != c.untimed:
				t.Errorf("%s: %d packets without a time, want %d", c.name, untimed, c.untimed)
			case c.note == "" && len(notes) > 0:
				t.Errorf("%s: %v", c.name, notes)
			case c.note != "" && (len(notes) != 1 || !errors.As(notes[0], &timesError) || timesError.Input != "in.pcap"):
				t.Errorf("%s: %v, want one note", c.name, notes)
			case c.note != "" && c.untimed < 2 && !strings.Contains(notes[0].Error(), c.note):
				t.Errorf("%s: %v, want %q", c.name, notes[0], c.note)
			}
		}
	}
}
