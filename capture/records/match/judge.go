// SPDX-License-Identifier: Apache-2.0

package match

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// Judgment details a judge's verdict on a record.
type Judgment struct {
	// Point is the number of its point, 0 where there are too many. Of is the number of the
	// point of a copy's original.
	Point, Of uint32
	// Flow is the hash of its key.
	Flow uint64
}

// Counts are the records that were judged.
type Counts struct {
	Records, Copies, Unchecked uint64
	NoRoom                     uint64 // of Unchecked: found no room in memory
	Bytes, CopiedBytes         uint64 // of both directions
	Sampled                    uint64 // of exporters that see one packet in several
	Archived                   uint64 // of an archive that was sent again: see Config.Archives
}

// Judge says which records are copies. It is for one goroutine at a time.
type Judge struct {
	cfg    Config
	points points
	policy policy
	aes    *digest.AES
	needed records.Parts // a record is unchecked if one of these parts is unreadable
	counts Counts
	matrix map[[2]uint32]uint64 // copies, by original and copy
	// longest is the longest recent duration of a record, precision the worst precision of times.
	longest   lately
	precision time.Duration

	sighting  timedRecord // the record that is judged
	keys      [][48]byte
	digests   []digest.Digest
	flows     []uint64
	verdicts  []records.Verdict
	judgments []Judgment
}

// policy decides about one record.
type policy interface {
	judge(r *timedRecord) (of uint32, verdict records.Verdict)
	// fetch has the CPU fetch the memory that judge will touch.
	fetch(flows []uint64)
	// rank is called when it is known how a point is preferred.
	rank(point uint32, rank uint8)
	Bytes() int
	Close() error
}

// timedRecord is a record as policies see it.
type timedRecord struct {
	*records.Record
	flow, nat  uint64 // hashes of its key, and of its translated key or 0
	point      uint32
	start, end int64 // on our clock
	now        int64
	timeless   bool // the record has no times
}

// New makes a judge. Errors wrap ErrConfig, or come from layout.NewArena.
func New(cfg Config) (*Judge, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	j := &Judge{
		cfg: cfg, points: newPoints(cfg.Points, cfg.Memory/pointsShare/2/pointCost), aes: digest.NewAES(cfg.Secret.AESKey(engine.UseRecords)),
		matrix: map[[2]uint32]uint64{}, needed: cfg.needed(),
	}
	var err error
	switch {
	case cfg.Boundary != nil:
		j.policy = cfg.Boundary
	case cfg.Pairs != nil:
		j.policy, err = newPairs(j)
	default:
		o := &owner{judges: j}
		o.owners, err = newOwners(cfg.forFlows())
		j.policy = o
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Judge returns verdicts about the records of a batch, and more about each. Both are valid
// until the next call.
func (j *Judge) Judge(b *records.Batch) ([]records.Verdict, []Judgment) {
	all := b.Records
	j.hash(all)
	j.policy.fetch(j.flows[:len(all)])
	j.verdicts, j.judgments = j.verdicts[:0], j.judgments[:0]
	for i := range all {
		verdict, judgment := j.one(&all[i], i, len(all))
		j.verdicts = append(j.verdicts, verdict)
		j.judgments = append(j.judgments, judgment)
	}
	return j.verdicts, j.judgments
}

// hash sets flows to the hashes of keys, followed by the hashes of translated keys.
func (j *Judge) hash(all []records.Record) {
	j.keys = j.keys[:0]
	for i := range all {
		r := &all[i]
		j.cfg.Key.Biflow = j.cfg.Key.Biflow || r.Both && j.cfg.MayBiflow
		j.keys = append(j.keys, [48]byte{})
		if !r.Unmatched {
			j.cfg.Key.put(&j.keys[i], r, side{r.Source, r.SourcePort}, side{r.Destination, r.DestinationPort})
		}
	}
	if j.cfg.NAT {
		for i := range all {
			j.keys = append(j.keys, [48]byte{})
			if from, to, ok := translated(&all[i]); ok {
				j.cfg.Key.put(&j.keys[len(all)+i], &all[i], from, to)
			}
		}
	}
	if n := len(j.keys); cap(j.digests) < n {
		j.digests, j.flows = make([]digest.Digest, n), make([]uint64, n)
	}
	j.digests, j.flows = j.digests[:len(j.keys)], j.flows[:len(j.keys)]
	j.aes.Sum48(j.digests, j.keys)
	for i := range j.digests {
		j.flows[i] = j.digests[i][1]
	}
}

// translated returns the ends of a flow behind the translation of addresses, and reports
// whether they differ from the ends before it.
func translated(r *records.Record) (from, to side, ok bool) {
	from, to = side{r.Source, r.SourcePort}, side{r.Destination, r.DestinationPort}
	before := [2]side{from, to}
	set := func(s *side, address *side) {
		if address.address.IsValid() && !address.address.IsUnspecified() {
			s.address = address.address
		}
		if address.port != 0 {
			s.port = address.port
		}
	}
	set(&from, &side{r.NATSource, r.NATSourcePort})
	set(&to, &side{r.NATDestination, r.NATDestinationPort})
	return from, to, !r.Unmatched && before != [2]side{from, to}
}

// one judges record i of n.
func (j *Judge) one(r *records.Record, i, n int) (records.Verdict, Judgment) {
	s := &j.sighting
	*s = timedRecord{Record: r, flow: j.flows[i], point: j.points.find(r)}
	if j.cfg.NAT {
		if _, _, ok := translated(r); ok {
			s.nat = j.flows[n+i]
		}
	}
	verdict, of := records.Unchecked, uint32(0)
	if s.point == 0 {
		j.counts.NoRoom++
	} else {
		j.place(s)
		if !r.Unmatched && r.Unread&j.needed == 0 {
			of, verdict = j.policy.judge(s)
		}
	}
	j.count(s, of, verdict)
	return verdict, Judgment{Point: s.point, Of: of, Flow: s.flow}
}

// A record that lasts longer than maxLongest says nothing about an active timeout.
const maxLongest = time.Hour

// place puts the times of a record on our clock, and learns from them.
func (j *Judge) place(s *timedRecord) {
	p, r := j.points.at(s.point), s.Record
	p.clock.see(r)
	offset := p.clock.offset(r)
	if j.cfg.Archives && isArchived(r) {
		j.counts.Archived++
		offset = 0
	}
	p.Offset = time.Duration(offset)
	s.start, s.end = r.Start, r.End
	switch {
	case s.start == 0 && s.end == 0:
		s.timeless = true
		s.start = r.Exported
		if s.start == 0 {
			s.start, offset = r.Received, 0
		}
		s.end = s.start
	case s.start == 0:
		s.start = s.end
	case s.end < s.start:
		s.end = s.start
	}
	s.start, s.end = calendar.Shift(s.start, offset), calendar.Shift(s.end, offset)
	s.now = Moment(r)
	if r.Exported == 0 {
		s.now = s.end
	}
	if long := time.Duration(calendar.Since(s.end, s.start)); long <= maxLongest {
		p.Longest = max(p.Longest, long)
		j.longest.note(long, r.Received)
		p.delay = max(p.delay, min(time.Duration(calendar.Since(s.now, s.end)), maxLongest))
	}
	p.precision = max(p.precision, r.Precision)
	j.precision = max(j.precision, min(p.precision, time.Minute))
	if p.Records == 0 || r.Sampling > p.Sampling {
		p.Sampling = r.Sampling
		j.policy.rank(s.point, j.rank(p))
	}
	if p.Records == 0 {
		p.First = s.now
	}
	p.Last = s.now
}

// rank says how a point is preferred, by 0 if it is not.
func (j *Judge) rank(p *Point) uint8 {
	rank := 0
	if i := slices.Index(j.cfg.Prefer, p.Exporter); i >= 0 {
		rank = max(len(j.cfg.Prefer)-i, 1)
	} else if j.cfg.PreferSampling {
		rank = 1 + bits.LeadingZeros32(p.Sampling|1)
	}
	return uint8(min(rank, math.MaxUint8))
}

func (j *Judge) count(s *timedRecord, of uint32, verdict records.Verdict) {
	j.counts.Records++
	j.counts.Bytes += s.TotalBytes()
	if s.Sampling > 1 {
		j.counts.Sampled++
	}
	switch verdict {
	case records.Copy:
		j.counts.Copies++
		j.counts.CopiedBytes += s.TotalBytes()
		j.countPair([2]uint32{of, s.point})
	case records.Unchecked:
		j.counts.Unchecked++
	}
	if s.point == 0 {
		return
	}
	p := j.points.at(s.point)
	p.Records++
	p.Packets += s.TotalPackets()
	p.Bytes += s.TotalBytes()
	switch verdict {
	case records.Copy:
		p.Copies++
		p.CopiedBytes += s.TotalBytes()
	case records.Unchecked:
		p.Unchecked++
	}
}

// countPair counts a copy by who reported the original and the copy. There may be too many
// pairs to count them all.
func (j *Judge) countPair(pair [2]uint32) {
	if pair[0] == 0 {
		return
	}
	if _, known := j.matrix[pair]; known || len(j.matrix) < max(j.cfg.Memory/pointsShare/2/pairCost, leastPairs) {
		j.matrix[pair]++
	}
}

// shortestAlive is for how long a flow is alive at least: twice an active timeout of a
// minute.
const shortestAlive = 2 * time.Minute

// Alive is how long a flow is remembered after the end of its reported time.
func (j *Judge) Alive() time.Duration {
	if j.cfg.OwnerTimeout > 0 {
		return j.cfg.OwnerTimeout
	}
	return max(2*j.longest.value(), shortestAlive)
}

// Key returns what makes a flow: see Config.MayBiflow.
func (j *Judge) Key() Key { return j.cfg.Key }

// Counts returns the counts so far.
func (j *Judge) Counts() Counts { return j.counts }

// Points returns all points so far. Point n is element n-1. They change with the next
// batch.
func (j *Judge) Points() []Point { return j.points.all }

// EachPair calls visit, in no order, with each pair of points that have copies: the point of the
// originals, the point of the copies, and their number. Pairs beyond the memory are left out.
func (j *Judge) EachPair(visit func(original, copied uint32, copies uint64)) {
	for pair, n := range j.matrix {
		visit(pair[0], pair[1], n)
	}
}

// Bytes returns the memory that remembered flows take.
func (j *Judge) Bytes() int { return j.policy.Bytes() }

// PointBytes returns about the memory of points.
func (j *Judge) PointBytes() int { return len(j.points.all)*pointCost + len(j.matrix)*pairCost }

// Close gives the memory back.
func (j *Judge) Close() error { return j.policy.Close() }
