package export

import "time"

// unit is what sequence numbers count.
type unit uint8

const (
	messages unit = iota
	perRecord
)

// arrival is what the header of a message tells about its place among others.
type arrival struct {
	number    uint32
	hash      uint64 // of the message
	exported  int64
	uptime    uint32
	hasUptime bool
}

// sequence follows the sequence numbers of a source.
type sequence struct {
	began    bool
	unit     unit // that was seen last
	expected uint32
	// unknown says that the message before had records of unknown number.
	unknown bool
	last    arrival
	counted uint32 // records of the message before
	fits    int    // messages in a row that fit the other unit
	// doubtful is what was counted as lost, and was not if the unit is the other.
	doubtful uint32
	recent   [replays]uint64
	next     int
}

// replays is how many messages of a source are remembered to know those that come again.
const replays = 32

// farAhead is the greatest gap that is loss. Beyond it, the exporter has restarted with
// another number.
const farAhead = 1 << 20

// outcome is what a message does to a sequence.
type outcome struct {
	replayed, restarted bool
	lost                uint32
	found               uint32 // of what was counted as lost
	late                bool   // it was counted as lost
}

// arrive enters a message. settle completes it when its records are counted.
func (q *sequence) arrive(a arrival, usual unit) (o outcome) {
	for _, h := range q.recent {
		if h == a.hash && q.began {
			return outcome{replayed: true}
		}
	}
	q.recent[q.next], q.next = a.hash, (q.next+1)%replays
	if !q.began {
		q.began, q.unit = true, usual
		q.last, q.expected = a, a.number
		return o
	}
	gap := int32(a.number - q.expected)
	if gap == 0 && q.counted != 1 {
		q.fits, q.doubtful = 0, 0
	}
	switch {
	case a.number == q.last.number: // it does not count, as some
	case gap == 0 || q.unknown && gap > 0 && gap < farAhead:
	case q.otherUnit(a.number, gap, &o):
	case q.restarted(a, gap):
		o.restarted = true
	case gap > 0:
		o.lost = uint32(gap)
	default:
		o.late = true
		return o // the numbers of those behind stay expected
	}
	q.last, q.expected = a, a.number
	return o
}

// otherUnit reports whether a number fits if sequence numbers count the other thing: some
// exporters of v9 count records, and some of IPFIX messages. One message may fit by chance,
// as one before it was lost. Several in a row do not, and what was lost by then was not.
func (q *sequence) otherUnit(number uint32, gap int32, o *outcome) bool {
	step := uint32(1)
	if q.unit == messages {
		step = q.counted
	}
	if q.unknown || number-q.last.number != step {
		return false
	}
	if q.fits++; q.fits < enoughFits {
		o.lost = uint32(max(gap, 0))
		q.doubtful += o.lost
		return true
	}
	o.found, q.doubtful = q.doubtful, 0
	q.unit = messages + perRecord - q.unit
	return true
}

// enoughFits is how many messages in a row fit by no chance.
const enoughFits = 3

// restarted tells a restart from messages that were lost or are late.
func (q *sequence) restarted(a arrival, gap int32) bool {
	if gap >= farAhead || gap <= -farAhead {
		return true
	}
	if !a.hasUptime {
		return gap < 0 && a.exported > q.last.exported
	}
	passed := a.exported - q.last.exported
	if a.exported == 0 { // of sFlow, which tells no time
		return int32(a.uptime-q.last.uptime) < -int32(farBack/time.Millisecond)
	}
	ran := int64(int32(a.uptime-q.last.uptime)) * int64(time.Millisecond)
	return passed-ran > int64(farBack) || ran-passed > int64(farBack)
}

// farBack is by how much clocks of one exporter may disagree.
const farBack = 30 * time.Second

// settle completes a message that was neither replayed nor late: it had so many records, or
// an unknown number of them.
func (q *sequence) settle(count uint32, known bool) {
	q.counted, q.unknown = count, !known && q.unit == perRecord
	if q.unit == messages {
		count = 1
	}
	q.expected += count
}
