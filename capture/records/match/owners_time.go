// SPDX-License-Identifier: Apache-2.0

package match

// reported is the time for which a flow was reported, in units: from begin to left and from back
// to end. In between the flow paused. It pauses more often than that: a pause is forgotten for
// the next one that is at least as long. Without a pause begin, left and back are equal.
type reported struct{ begin, left, back, end uint32 }

// contains reports whether a report begins within the reported time: see [owners.report]. A
// report that begins where a part of that time ends may be about the packets after it. It begins
// with the last packet there if another one is not to be expected so soon: if packets come much
// further apart than times differ; if they do not come sooner, and that one came alone; or if the
// pause is hardly longer than packets are apart.
func (t reported) contains(start, end, gap uint32, within int32) bool {
	in := func(from, until uint32, same bool) bool {
		later := -within // must the time end by as much
		if !same {
			later += int32(min(end-start, uint32(2*within)))
		}
		if later < 0 {
			later -= int32((t.end - until) / (2 * mantissa)) // by how much it may be rounded
		}
		return int32(start-until)+later <= 0 && int32(from-start) <= within
	}
	apart := uint32(within)
	return in(t.back, t.end, gap > 4*apart || gap > apart && int32(start-t.back) <= within) ||
		in(t.begin, t.left, gap > apart && t.back-t.left <= gap+gap/4)
}

// add adds a report to the reported time. A pause before it counts as one if another point ends
// it, however short it is: the owner may still report that time.
func (t *reported) add(start, end uint32, within int32, another bool) {
	if int32(start-t.back) >= 0 && int32(start-t.end) <= within { // as most do
		if int32(end-t.end) > 0 {
			t.end = end
		}
		return
	}
	runs := [3][2]uint32{{t.begin, t.left}, {t.back, t.end}, {start, end}}
	for i := 2; i > 0 && int32(runs[i][0]-runs[i-1][0]) < 0; i-- {
		runs[i], runs[i-1] = runs[i-1], runs[i]
	}
	n := 0
	for _, run := range runs[1:] {
		if int32(run[0]-runs[n][1]) > within {
			n++
			runs[n] = run
		} else if int32(run[1]-runs[n][1]) > 0 {
			runs[n][1] = run[1]
		}
	}
	*t = reported{runs[0][0], runs[0][0], runs[0][0], runs[n][1]}
	switch {
	case n == 1, n == 2 && !another && runs[1][0]-runs[0][1] > runs[2][0]-runs[1][1]:
		t.left, t.back = runs[0][1], runs[1][0]
	case n == 2:
		t.left, t.back = runs[1][1], runs[2][0]
	}
}
