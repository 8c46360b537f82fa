// SPDX-License-Identifier: Apache-2.0

// Package lru is a map of bounded size that forgets the least recently used element.
package lru

import "container/list"

// Map holds at most a number of entries. The zero value is not ready: use New.
type Map[K comparable, V any] struct {
	limit int
	byKey map[K]*list.Element
	order *list.List // the last used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map for at most limit entries, which is at least 1.
func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value of a key, which counts as used now. It takes constant time and does
// not allocate.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	e, ok := m.byKey[key]
	if !ok {
		return value, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Add adds a key that is not there. If the map is full, it takes out the entry that was not
// used for longest, and returns its value.
func (m *Map[K, V]) Add(key K, value V) (old V, full bool) {
	if e := m.order.Back(); len(m.byKey) >= m.limit {
		last := m.order.Remove(e).(*entry[K, V])
		delete(m.byKey, last.key)
		old, full = last.value, true
	}
	m.byKey[key] = m.order.PushFront(&entry[K, V]{key, value})
	return old, full
}
