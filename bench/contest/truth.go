// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"os"
)

// truth is the known content of a capture.
type truth struct {
	records []known
	packets int // different ones
	stay    int // of these, packets that repeat others and must stay
	byTime  map[int64][]int
	byFrame map[uint64][]int
	seed    maphash.Seed
	talks   map[string]sides // conversations
	summed  map[int]bool     // packets with a record with right checksums
}

// coarse is a microsecond, the clock of formats to which times are compared.
const coarse = 1000

// known is a record of the capture.
type known struct {
	at     int64
	packet int  // number of the first record that shows it
	stays  bool // whether the packet repeats another and must stay
	frame  uint64
}

// sides are the directions of a conversation that were seen.
type sides [2]bool

func (s sides) both() bool { return s[0] && s[1] }

// newTruth reads a capture. lines say which records repeat others.
func newTruth(capture string, lines []line) (*truth, error) {
	t := &truth{byTime: map[int64][]int{}, byFrame: map[uint64][]int{}, seed: maphash.MakeSeed(),
		talks: map[string]sides{}, summed: map[int]bool{}}
	repeats := map[int]line{}
	for _, l := range lines {
		repeats[l.record] = l
	}
	err := eachPacket(capture, func(at int64, frame []byte) {
		number := len(t.records)
		k := known{at: at, packet: number, frame: maphash.Bytes(t.seed, frame)}
		if l, ok := repeats[number]; ok && stays[l.how] {
			k.stays = true
			t.stay++
		} else if ok && l.original < number {
			k.packet, k.stays = t.records[l.original].packet, t.records[l.original].stays
		}
		if k.packet == number {
			t.packets++
		}
		t.records = append(t.records, k)
		t.byTime[at/coarse] = append(t.byTime[at/coarse], number)
		t.byFrame[k.frame] = append(t.byFrame[k.frame], number)
		v := dissect(frame)
		v.note(t.talks, v.talk)
		if v.sums == right {
			t.summed[k.packet] = true
		}
	})
	if err == nil && len(lines) > 0 && lines[len(lines)-1].record >= len(t.records) {
		err = fmt.Errorf("%s: %w: it has %d packets, and the list says more", capture, errList, len(t.records))
	}
	return t, err
}

// sightings reads which records show each packet from the truth of a capture of
// testdata/pcaps.
func sightings(name string) ([]line, []string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	var known struct {
		Identity  string
		Ignore    []string
		Sightings [][]int
		Packets   int
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	byRecord := make([]line, known.Packets)
	for _, seen := range known.Sightings {
		for _, record := range seen[1:] {
			byRecord[record] = line{record, seen[0], "copy"}
		}
	}
	var lines []line
	for _, l := range byRecord {
		if l.how != "" {
			lines = append(lines, l)
		}
	}
	var flags []string
	if known.Identity != "l3" {
		flags = append(flags, "--identity", known.Identity)
	}
	for _, field := range known.Ignore {
		flags = append(flags, "--ignore", field)
	}
	return lines, flags, nil
}
