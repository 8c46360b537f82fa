// SPDX-License-Identifier: Apache-2.0

package inspect

// mostRouters is the largest number of routers on a path, as in traceroute. Routers do not
// lower a time to live by more.
const mostRouters = 30

// addHops counts a copy by how much smaller its time to live is.
func (c *cell) addHops(first, copied *sighting, weight uint64) {
	step := int(first.hops) - int(copied.hops)
	if step == 0 {
		return
	}
	if c.hops == nil {
		c.hops = map[int]uint64{}
	}
	c.hops[step] += weight
}

// routers returns how many routers lie between most copies whose time to live differs. The
// path between two points is always the same: where no step stands for most copies of a pair,
// senders or balancers choose times to live. It returns 0 unless it can say so for most
// copies.
func (m *matrix) routers() int {
	pairs := map[cellKey]map[int]uint64{}
	for key, c := range m.cells {
		between := cellKey{min(key.first, key.copied), max(key.first, key.copied)}
		if pairs[between] == nil {
			pairs[between] = map[int]uint64{}
		}
		for step, n := range c.hops {
			pairs[between][max(step, -step)] += n
		}
	}
	all, explained := uint64(0), map[int]uint64{}
	for _, steps := range pairs {
		step, n, sum := most(steps)
		all += sum
		if step <= mostRouters && 2*n > sum {
			explained[step] += n
		}
	}
	step, _, sum := most(explained)
	if 2*sum <= all {
		return 0
	}
	return step
}

// most returns the number with the largest count, the least of equal ones, its count, and
// the sum of all.
func most(counts map[int]uint64) (number int, n, sum uint64) {
	for i, count := range counts {
		sum += count
		if count > n || count == n && i < number {
			number, n = i, count
		}
	}
	return number, n, sum
}
