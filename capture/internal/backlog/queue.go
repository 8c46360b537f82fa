// SPDX-License-Identifier: Apache-2.0

package backlog

// Queue is a queue that keeps its memory.
type Queue[T any] struct {
	items []T // a power of two of them, or none
	from  int
	count int
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.count }

// At returns the item i places behind the front.
func (q *Queue[T]) At(i int) *T { return &q.items[(q.from+i)&(len(q.items)-1)] }

// Front returns the item at the front.
func (q *Queue[T]) Front() *T { return q.At(0) }

// Push adds an item behind the others.
func (q *Queue[T]) Push(item T) {
	if q.count == len(q.items) {
		items := make([]T, max(16, 2*q.count))
		for i := range q.count {
			items[i] = *q.At(i)
		}
		q.items, q.from = items, 0
	}
	*q.At(q.count) = item
	q.count++
}

// Pop takes the item at the front off.
func (q *Queue[T]) Pop() T {
	var none T
	item := *q.Front()
	*q.Front() = none
	q.from = (q.from + 1) & (len(q.items) - 1)
	q.count--
	return item
}

// Clear takes all items off.
func (q *Queue[T]) Clear() {
	for q.count > 0 {
		q.Pop()
	}
}
