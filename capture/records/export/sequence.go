package export

import "time"

// unit is what sequence numbers count.
type unit uint8

const (
	messages   unit = iota // those before: NetFlow v9, sFlow
	allRecords             // those before: IPFIX, NetFlow v5
	ownRecords             // those before and in the message: softflowd
	units
)

// arrival is a message among others of its source.
type arrival struct {
	number    uint32 // in sequence
	hash      uint64 // of all its bytes
	exported  int64
	uptime    uint32
	hasUptime bool
	count     uint32 // of records
	unknown   bool   // that is not known
}

// sequence follows the sequence numbers of a source.
type sequence struct {
	began  bool
	unit   unit
	last   arrival
	recent [replays]uint64
	next   int

	// Exporters that count something else are known by several messages in a row. Doubtful
	// is what was counted as lost by then, and was not.
	other    unit
	fits     int
	doubtful uint32
}

const (
	// replays is how many messages of a source are remembered to know those that come
	// again.
	replays = 32
	// farAhead is the greatest gap that is loss. Beyond it, the exporter has restarted with
	// another number.
	farAhead = 1 << 20
	// enoughFits is how many messages in a row fit another unit by no chance.
	enoughFits = 3
	// farApart is by how much clocks of one exporter may disagree.
	farApart = 30 * time.Second
)

// outcome is what a message says about those before.
type outcome struct {
	replayed, restarted bool
	lost                uint32
	found               uint32 // of what was counted as lost
}

// enter enters a message.
func (q *sequence) enter(a arrival, usual unit) (o outcome) {
	for _, h := range q.recent {
		if h == a.hash && q.began {
			return outcome{replayed: true}
		}
	}
	q.recent[q.next], q.next = a.hash, (q.next+1)%replays
	if !q.began {
		q.began, q.unit, q.last = true, usual, a
		return o
	}
	step := a.number - q.last.number
	want, known := q.step(q.unit, &a)
	switch gap := int32(step - want); {
	case step == 0: // some do not count
	case !known && int32(step) > 0 && step < farAhead:
	case gap == 0:
		q.agree(step, &a)
	case q.differ(step, gap, &a, &o):
	case q.restarted(&a, gap):
		o.restarted = true
	case gap > 0:
		o.lost = uint32(gap)
	default: // late: the numbers of those behind it stay expected
		if o.found = 1; q.unit != messages {
			o.found = a.count
		}
		return o
	}
	q.last = a
	return o
}

// step returns by how much a message goes ahead of the one before if a unit is right, and
// whether that is known.
func (q *sequence) step(u unit, a *arrival) (step uint32, known bool) {
	switch u {
	case allRecords:
		return q.last.count, !q.last.unknown
	case ownRecords:
		return a.count, !a.unknown
	}
	return 1, true
}

// agree forgets another unit that does not fit.
func (q *sequence) agree(step uint32, a *arrival) {
	if other, known := q.step(q.other, a); known && other != step {
		q.fits, q.doubtful = 0, 0
	}
}

// differ reports whether a message fits another unit. One may fit by chance, as others
// before it were lost. After enough of them the unit changes.
func (q *sequence) differ(step uint32, gap int32, a *arrival, o *outcome) bool {
	fits := func(u unit) bool {
		other, known := q.step(u, a)
		return u != q.unit && known && other == step
	}
	if q.fits == 0 || !fits(q.other) {
		q.fits, q.doubtful = 0, 0
		for q.other = 0; q.other < units && !fits(q.other); q.other++ {
		}
		if q.other == units {
			return false
		}
	}
	if q.fits++; q.fits < enoughFits {
		o.lost = uint32(max(gap, 0))
		q.doubtful += o.lost
		return true
	}
	o.found = q.doubtful
	q.unit, q.other, q.fits, q.doubtful = q.other, q.unit, 0, 0
	return true
}

// restarted tells a restart from messages that were lost or are late.
func (q *sequence) restarted(a *arrival, gap int32) bool {
	if gap >= farAhead || gap <= -farAhead {
		return true
	}
	if !a.hasUptime {
		return gap < 0 && a.exported > q.last.exported
	}
	ran := time.Duration(int32(a.uptime-q.last.uptime)) * time.Millisecond
	if a.exported == 0 { // of sFlow, which tells no time
		return ran < -farApart
	}
	apart := time.Duration(a.exported-q.last.exported) - ran
	return apart > farApart || apart < -farApart
}
