// SPDX-License-Identifier: Apache-2.0

package export

import "time"

// unit is the unit of sequence numbers.
type unit uint8

const (
	messages   unit = iota // messages before: NetFlow v9, sFlow
	allRecords             // records before: IPFIX, NetFlow v5
	ownRecords             // records of flows before and in the message: softflowd
	units
)

// arrival is a message among others of its source.
type arrival struct {
	number    uint32 // in sequence
	received  int64
	exported  int64 // 0 if unknown
	uptime    uint32
	hasUptime bool
	count     uint32 // of records
	options   uint32 // records about the exporter
	templates bool   // IPFIX that has some
	unknown   bool   // the count is not known
}

// own returns how many records of flows the message has.
func (a *arrival) own() uint32 { return a.count - a.options }

// beginsOwn reports whether the first message with records of flows counts its own records. Other
// exporters begin with 0.
func (a *arrival) beginsOwn() bool { return a.own() > 0 && a.number == a.own() }

// sequence follows the sequence numbers of a source.
type sequence struct {
	unit unit
	// life is the time since the exporter's last known restart, before the life that this restart
	// ended: its last messages may come late.
	life, before life

	// Exporters that count something else are known by several messages in a row. Doubtful is
	// the number of units that are missing by then, although nothing was lost. They count as
	// lost at once if the unit is sure: a message fitted it, and no other unit. Else they count
	// once the doubt is over.
	other    unit
	fits     int
	doubtful uint32
	settled  uint32 // of a doubt that this message ended: to be counted with it
	sure     bool
}

const (
	// farAhead is the greatest gap that is loss. Beyond it, the exporter has restarted with
	// a random number.
	farAhead = 1 << 20
	// After enoughFits messages in a row that fit a second unit, chance is excluded. Loss of
	// messages fits the number of records more easily.
	enoughFits         = 3
	enoughFitsMessages = 6
	// apart is by how much clock and uptime of an exporter may disagree: a clock in whole
	// seconds is off by a second.
	apart = 2 * time.Second
	// farApart is by how much they disagree where no step of the clock explains it.
	farApart = 30 * time.Second
)

// outcome is what a message shows about earlier messages.
type outcome struct {
	restarted bool
	lost      uint32
	found     uint32 // of units counted as lost
}

// enter enters a message that did not come before. Three signs distinguish a restart from loss
// and from late messages: the time at which the exporter started by its uptime, a number that
// an earlier message had, and a number that falls although the exporter's clock has advanced.
func (q *sequence) enter(a arrival, usual unit) outcome {
	o := q.take(a, usual)
	o.lost += q.settled
	q.settled = 0
	return o
}

func (q *sequence) take(a arrival, usual unit) (o outcome) {
	l := &q.life
	if !l.began {
		if q.unit = usual; a.templates && a.beginsOwn() {
			q.unit = ownRecords
		}
		l.start(&a)
		return o
	}
	if first := &l.last; first.templates && first.number == 0 && first.own() == 0 && a.beginsOwn() {
		q.unit = ownRecords // the first message had templates only
	}
	if l.isBefore(&a) {
		if o, ok := q.before.place(&a, q.unit); ok {
			o.found = q.came(o.found)
			return o
		}
	}
	if found, ok := l.fill(&a, q.unit); ok {
		return outcome{found: q.came(found)}
	}
	if l.rebooted(&a) {
		return q.restart(&a)
	}
	step, gap := a.number-l.last.number, l.gap(&a, q.unit)
	switch _, known := q.step(q.unit, &a); {
	case step == 0: // some do not count
	case !known && int32(step) > 0 && step < farAhead:
	case gap == 0:
		q.agree(step, &a)
	case q.differ(step, gap, &a, &o):
	case gap >= farAhead || gap <= -farAhead:
		return q.restart(&a)
	case gap < 0:
		return q.back(&a)
	default:
		o = q.missed(l.ahead(&a, q.unit))
	}
	l.last = a
	return o
}

// restart begins a new life. The exporter still counts what it counted, so that a doubt
// about it goes on.
func (q *sequence) restart(a *arrival) outcome {
	q.before, q.life = q.life, life{gaps: q.before.gaps[:0]}
	q.life.start(a)
	if q.sure {
		q.fits, q.doubtful = 0, 0
	}
	return outcome{restarted: true}
}

// back takes a message whose number is lower than expected, and is not missing.
func (q *sequence) back(a *arrival) outcome {
	l := &q.life
	if o, ok := l.below(a, q.unit); ok {
		return o
	}
	if q.before.began {
		if found, ok := q.before.fill(a, q.unit); ok {
			return outcome{found: q.came(found)}
		}
	}
	from, to := q.unit.span(a)
	older := a.exported < l.last.exported
	same := a.exported == l.last.exported && a.exported != 0
	if older || same && from == to {
		return outcome{} // late, and nothing was missing
	}
	return q.restart(a)
}

// step returns the expected step from the last message to a in unit u, and whether it is known.
func (q *sequence) step(u unit, a *arrival) (step uint32, known bool) {
	switch last := &q.life.last; u {
	case allRecords:
		return last.count, !last.unknown
	case ownRecords:
		return a.own(), !a.unknown
	}
	return 1, true
}

// missed counts the units missing before a message, at once or when the doubt is over.
func (q *sequence) missed(o outcome) outcome {
	if q.fits > 0 {
		q.doubtful += o.lost
		if !q.sure {
			o.lost = 0
		}
	}
	return o
}

// came takes units that were missing, and returns how many of them had counted as lost.
func (q *sequence) came(found uint32) uint32 {
	doubtful := min(q.doubtful, found)
	q.doubtful -= doubtful
	if !q.sure {
		found -= doubtful
	}
	return found
}

// settle ends the doubt about the unit: the units that are missing were lost.
func (q *sequence) settle() {
	if !q.sure {
		q.settled += q.doubtful
	}
	q.fits, q.doubtful = 0, 0
}

// agree forgets a second unit that does not fit. The unit is sure if no other unit fits.
func (q *sequence) agree(step uint32, a *arrival) {
	differs := func(u unit) bool {
		other, known := q.step(u, a)
		return known && other != step
	}
	if differs(q.other) {
		q.settle()
	}
	alone := true
	for u := range units {
		alone = alone && (u == q.unit || differs(u))
	}
	q.sure = q.sure || alone
}

// differ looks for a unit that the message fits. A fit may be chance, since messages before it may
// be lost: the unit changes after enough fits. differ reports whether the message was taken by the
// second unit.
func (q *sequence) differ(step uint32, gap int32, a *arrival, o *outcome) bool {
	fits := func(u unit) bool {
		other, known := q.step(u, a)
		return u != q.unit && known && other == step
	}
	if q.fits == 0 || !fits(q.other) {
		q.settle()
		for q.other = 0; q.other < units && !fits(q.other); q.other++ {
		}
		if q.other == units {
			return false
		}
	}
	enough := enoughFits
	if q.unit == messages {
		enough = enoughFitsMessages
	}
	if q.fits++; q.fits < enough {
		return gap < 0
	}
	if q.sure {
		o.found = q.doubtful
	}
	q.unit, q.other, q.fits, q.doubtful, q.sure = q.other, q.unit, 0, 0, true
	q.life.gaps, q.before.gaps = q.life.gaps[:0], q.before.gaps[:0]
	return true
}
