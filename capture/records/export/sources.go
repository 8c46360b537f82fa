// SPDX-License-Identifier: Apache-2.0

package export

import "container/list"

const (
	// sourceCost is about the memory of a source with the least marks of messages,
	// templateCost and fieldCost a template and each of its fields, gapCost and samplerCost
	// the rest.
	sourceCost   = 1 << 10
	templateCost = 192
	fieldCost    = 16
	gapCost      = 48
	samplerCost  = 16

	// known is how many messages make a source one that is known.
	known = 16
	// freshShare is the part of the memory that sources have which are not known yet.
	freshShare = 8
)

// sources are the senders of messages. Senders of few messages do not evict known ones, as long
// as these do not take all memory: whoever makes up addresses sends few messages from each.
// Else the one that has sent nothing for longest goes.
type sources struct {
	byKey map[sourceKey]*source
	// The last used first.
	fresh, known *list.List
	most         int // bytes
	bytes        int
	freshBytes   int
}

func newSources(most int) *sources {
	return &sources{byKey: map[sourceKey]*source{}, fresh: list.New(), known: list.New(), most: most}
}

// get returns a source, which counts as used now. It returns nil for one that is not there.
func (all *sources) get(key sourceKey) *source {
	s := all.byKey[key]
	if s != nil {
		all.listOf(s).MoveToFront(s.place)
	}
	return s
}

func (all *sources) listOf(s *source) *list.List {
	if s.known {
		return all.known
	}
	return all.fresh
}

// add adds a source.
func (all *sources) add(s *source) {
	all.byKey[s.key] = s
	s.place = all.listOf(s).PushFront(s)
	all.settle(s)
}

// settle counts the memory of a source. One that takes more than half of the memory loses the
// templates that it has not used for longest. It does nothing for one that was forgotten.
func (all *sources) settle(s *source) {
	if s.place == nil {
		return
	}
	for s.cost() > all.most/2 && len(s.templates) > 1 {
		s.forget(s.leastUsed())
	}
	all.count(s, s.cost())
	if !s.known && s.messages >= known {
		bytes := s.counted
		all.count(s, 0)
		all.fresh.Remove(s.place)
		s.known = true
		s.place = all.known.PushFront(s)
		all.count(s, bytes)
	}
}

// count counts a source of this many bytes.
func (all *sources) count(s *source, bytes int) {
	all.bytes += bytes - s.counted
	if !s.known {
		all.freshBytes += bytes - s.counted
	}
	s.counted = bytes
}

// forget removes a source and returns it. There must be one.
func (all *sources) forget() *source {
	from := all.known
	if all.fresh.Len() > 0 && (all.freshBytes > all.most/freshShare || from.Len() == 0) {
		from = all.fresh
	}
	s := from.Remove(from.Back()).(*source)
	all.count(s, 0)
	s.place = nil
	delete(all.byKey, s.key)
	return s
}

// backward calls yield for each source: known ones come last, in the order of their last use.
func (all *sources) backward(yield func(*source) bool) {
	for _, l := range []*list.List{all.fresh, all.known} {
		for e := l.Back(); e != nil; e = e.Prev() {
			if !yield(e.Value.(*source)) {
				return
			}
		}
	}
}

// cost returns about the memory of a source.
func (s *source) cost() int {
	gaps := cap(s.sequence.life.gaps) + cap(s.sequence.before.gaps)
	return sourceCost + templateCost*len(s.templates) + fieldCost*s.fields + gapCost*gaps + samplerCost*cap(s.samplers)
}
