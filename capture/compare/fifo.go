// SPDX-License-Identifier: Apache-2.0

package compare

// fifo is a queue that keeps its memory.
type fifo[T any] struct {
	items []T
	from  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.from }

// at returns the item i places behind the front.
func (f *fifo[T]) at(i int) *T { return &f.items[f.from+i] }

func (f *fifo[T]) push(item T) { f.items = append(f.items, item) }

// pop takes the item at the front off.
func (f *fifo[T]) pop() (item T) {
	var none T
	item, f.items[f.from] = f.items[f.from], none
	if f.from++; 2*f.from >= len(f.items) {
		f.items = f.items[:copy(f.items, f.items[f.from:])]
		f.from = 0
	}
	return item
}
