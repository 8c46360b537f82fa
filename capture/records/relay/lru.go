// SPDX-License-Identifier: Apache-2.0

package relay

import "container/list"

// lru is a map of at most a number of entries, which forgets the least recently used one. The
// zero value is not ready: use newLRU.
type lru[K comparable, V any] struct {
	limit int
	byKey map[K]*list.Element
	order *list.List // the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// newLRU returns an empty map for at most limit entries, which is at least 1.
func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, byKey: map[K]*list.Element{}, order: list.New()}
}

// get returns the value of a key, which counts as used now. It takes constant time and does
// not allocate.
func (m *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// add adds a key that is not there. If the map is full, it takes out the entry that was not
// used for longest, and returns its value.
func (m *lru[K, V]) add(key K, value V) (old V, full bool) {
	if e := m.order.Back(); len(m.byKey) >= m.limit {
		last := m.order.Remove(e).(*entry[K, V])
		delete(m.byKey, last.key)
		old, full = last.value, true
	}
	m.byKey[key] = m.order.PushFront(&entry[K, V]{key, value})
	return old, full
}
