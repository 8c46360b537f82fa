// SPDX-License-Identifier: Apache-2.0

package match

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// nearby is by how much the times of two points may differ after their offset was
// removed. It is half of the shortest active timeout that routers have, so it does not
// reach from one record to the next. Times in whole seconds need more: their unit, and a
// quarter of this for the offset.
const nearby = 500 * time.Millisecond

// owner is the policy that keeps the records of one point of a flow at a time.
type owner struct {
	judges *Judge
	table  *owners
}

func newOwner(j *Judge) (*owner, error) {
	table, err := newOwners(j.cfg.forFlows())
	return &owner{j, table}, err
}

func (o *owner) fetch(flows []uint64)          { o.table.fetch(flows) }
func (o *owner) rank(point uint32, rank uint8) { o.table.setRank(point, rank) }
func (o *owner) Bytes() int                    { return o.table.bytes() }
func (o *owner) Close() error                  { return o.table.Close() }

// judge finds the flow's owner. A record with translated addresses belongs to two flows. It is
// a copy if another point owns either, and the owner of one owns both.
func (o *owner) judge(s *timedRecord) (uint32, records.Verdict) {
	report := ownerReport{
		Flow: s.flow, Point: s.point, Start: s.start, End: s.end, Now: s.now,
		Alive: o.judges.Alive(), Within: max(nearby, o.judges.precision+nearby/4),
	}
	switch {
	case o.judges.cfg.OwnerTimeout > 0, s.timeless:
		report.Within = report.Alive
	}
	of, answer := o.table.report(report)
	if s.nat != 0 && answer != ownerFull {
		report.Flow, report.Point = s.nat, of
		if before, other := o.table.report(report); answer == ownerNew && other == ownerCopy {
			of, answer = before, other
		}
	}
	switch answer {
	case ownerCopy:
		return of, records.Copy
	case ownerFull:
		return 0, records.Unchecked
	}
	return 0, records.Keep
}
