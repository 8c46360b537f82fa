// SPDX-License-Identifier: Apache-2.0

package main

import "hash/maphash"

// verdict is the judgement of a program's output for a capture.
type verdict struct {
	Records   int `json:"records"`    // written
	Lost      int `json:"lost"`       // packets without a remaining record
	LostStay  int `json:"lost_stay"`  // of them, packets that repeat others and must stay
	Copies    int `json:"copies"`     // records left beyond one for each packet
	Changed   int `json:"changed"`    // records with other bytes than captured
	Unknown   int `json:"unknown"`    // records that were not captured, or are written twice
	Backwards int `json:"backwards"`  // records after one that is later both in the capture and by time
	WrongSums int `json:"wrong_sums"` // records with wrong checksums of packets that were captured with right ones, too
	Talks     int `json:"conversations"`
	TwoSided  int `json:"two_sided"`      // conversations with both directions left
	ByVLAN    int `json:"two_sided_vlan"` // conversations that have both directions in each of their VLANs and tunnels
}

// trial is a judgement under way.
type trial struct {
	*truth
	verdict
	used   []bool // records
	left   []int  // records for each packet
	last   int    // record, of the capture
	newest int64  // time
	talks  map[string]sides
	flows  map[string]sides  // conversations by point
	flowOf map[string]string // the conversation of each
}

// judge compares a program's output with the truth.
func (t *truth) judge(output string) (verdict, error) {
	j := &trial{truth: t, used: make([]bool, len(t.records)), left: make([]int, len(t.records)), last: -1,
		talks: map[string]sides{}, flows: map[string]sides{}, flowOf: map[string]string{}}
	if err := eachPacket(output, func(at int64, frame []byte) { j.add(at, frame, dissect(frame)) }); err != nil {
		return verdict{}, err
	}
	j.count()
	return j.verdict, nil
}

func (j *trial) add(at int64, frame []byte, v view) {
	j.Records++
	record, same := j.find(at, maphash.Bytes(j.seed, frame))
	if record < 0 {
		j.Unknown++
		return
	}
	j.used[record] = true
	packet := j.records[record].packet
	j.left[packet]++
	if !same {
		j.Changed++
	}
	if record < j.last && at < j.newest {
		j.Backwards++
	}
	j.last, j.newest = max(j.last, record), max(j.newest, at)
	if v.sums == wrong && j.summed[packet] {
		j.WrongSums++
	}
	key := v.talk + " in " + v.point
	v.note(j.talks, v.talk)
	v.note(j.flows, key)
	if v.talk != "" {
		j.flowOf[key] = v.talk
	}
}

// find returns the record of a frame, and whether its bytes are the same: a record with
// the same time, or else with the same bytes. Of several with other bytes it prefers the
// one whose time is the same to the nanosecond.
func (j *trial) find(at int64, frame uint64) (record int, same bool) {
	changed := -1
	there := j.byTime[at/coarse]
	for _, candidate := range there {
		switch {
		case j.used[candidate]:
		case j.records[candidate].frame == frame:
			return candidate, true
		case changed < 0 || j.records[candidate].at == at:
			changed = candidate
		}
	}
	if changed >= 0 || len(there) > 0 {
		return changed, false
	}
	for _, candidate := range j.byFrame[frame] {
		if !j.used[candidate] {
			return candidate, true
		}
	}
	return -1, false
}

// count adds up the remaining packets and conversations.
func (j *trial) count() {
	for number, known := range j.records {
		if known.packet != number {
			continue
		}
		j.Copies += max(0, j.left[number]-1)
		if j.left[number] == 0 {
			j.Lost++
			if known.stays {
				j.LostStay++
			}
		}
	}
	halves := map[string]bool{}
	for key, seen := range j.flows {
		halves[j.flowOf[key]] = halves[j.flowOf[key]] || !seen.both()
	}
	for talk, seen := range j.truth.talks {
		if !seen.both() {
			continue
		}
		j.Talks++
		if j.talks[talk].both() {
			j.TwoSided++
			if !halves[talk] {
				j.ByVLAN++
			}
		}
	}
}
