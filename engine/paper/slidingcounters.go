package paper

// counters are the cells of a counting Bloom filter. A counter that reaches its
// largest value has lost count, so it stays there until it is cleared. Any other
// has never been full, and holds the exact number of settings that were not taken
// back. So no counter goes below zero, and none is zero too early.
type counters struct{ cells }

// increment adds one to counter i unless it has lost count.
func (c *counters) increment(i uint64) {
	if value := c.get(i); value < c.top {
		c.put(i, value+1)
	}
}

// release takes back one increment of counter i unless it has lost count.
func (c *counters) release(i uint64) {
	if value := c.get(i); value < c.top {
		c.put(i, value-1)
	}
}
