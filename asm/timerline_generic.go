package asm

func testAndSetTimersGeneric(lines [][8]uint64, seen []uint64, digests []Digest, ticks []uint64, r *TimerRule, c *TimerCounts) {
	var index [64]uint64
	for w := 0; len(digests) > 0; w++ {
		n := min(64, len(digests))
		touchLines(lines, digests[:n], &index)
		var word uint64
		for i, d := range digests[:n] {
			if r.testAndSet(&lines[index[i&63]], d[0], r.stamp(ticks[i]), c) {
				word |= 1 << (i & 63)
			}
		}
		seen[w] = word
		digests, ticks = digests[n:], ticks[n:]
	}
}

// testAndSet takes one element of the present, whose stamp is now.
func (r *TimerRule) testAndSet(line *[8]uint64, low, now uint64, c *TimerCounts) (seen bool) {
	var at, timers [MaxCellK]uint64
	k := int(r.parts.k)
	oldest := r.oldest(now)
	seen = true
	for j := range k {
		at[j&7] = r.parts.cell(low, j) * r.bits
		timer := line[at[j&7]>>6&7] >> (at[j&7] & 63) & r.period
		timers[j&7] = timer
		seen = seen && timer != 0 && (now-timer)&r.period <= oldest
	}
	seen = seen && (r.equal < 2 || largestGroup(timers[:k]) >= r.equal)
	if seen && r.refresh == 0 {
		return true
	}
	for j := range k {
		if timers[j&7] == 0 {
			c.NonZero++
		}
		word, shift := &line[at[j&7]>>6&7], at[j&7]&63
		*word = *word&^(r.period<<shift) | now<<shift
	}
	return seen
}

// largestGroup returns how many of timers are equal, at most.
func largestGroup(timers []uint64) (largest uint64) {
	for i, a := range timers {
		equal := uint64(1)
		for _, b := range timers[i+1:] {
			if a == b {
				equal++
			}
		}
		largest = max(largest, equal)
	}
	return largest
}

// sweepTimersGeneric returns how many timers it clears.
func sweepTimersGeneric(lines [][8]uint64, tick uint64, r *TimerRule) (cleared uint64) {
	now := r.stamp(tick)
	oldest := r.oldest(now)
	for i := range lines {
		for w, word := range lines[i] {
			if word == 0 {
				continue
			}
			for shift := uint64(0); shift < 64; shift += r.bits {
				timer := word >> shift & r.period
				if timer != 0 && (now-timer)&r.period > oldest {
					word &^= r.period << shift
					cleared++
				}
			}
			lines[i][w] = word
		}
	}
	return cleared
}
