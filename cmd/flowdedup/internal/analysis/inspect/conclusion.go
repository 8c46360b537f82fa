// SPDX-License-Identifier: Apache-2.0

package inspect

// Conclusion says in a word what an inspection has found.
type Conclusion string

// The conclusions.
const (
	NoPackets  Conclusion = "no-packets"
	Copies     Conclusion = "copies"      // worth to be removed
	NoCopies   Conclusion = "no-copies"   // or hardly any
	Loops      Conclusion = "loop"        // no copies, but packets that a network repeats
	CannotTell Conclusion = "cannot-tell" // copies of most packets would not have been found
)

// fewAlike is the share of packets that may equal others by their checksums only.
const fewAlike = 0.05

// conclude needs all of r but the conclusion.
func (r *Report) conclude() Conclusion {
	switch {
	case r.Packets == 0:
		return NoPackets
	case r.Recommendation.Dedup:
		return Copies
	case 2*r.untold() > r.Packets, float64(r.ChecksumOnly) > fewAlike*float64(r.Packets):
		return CannotTell
	case r.Looped > 0:
		return Loops
	}
	return NoCopies
}

// untold counts the packets whose copies are not found, or only if they differ in nothing: not
// opened, truncated too short, or without a time.
func (r *Report) untold() uint64 {
	sum := r.NoTime + r.Undecidable
	for _, n := range r.Unopened {
		sum += n
	}
	return min(sum, r.Packets)
}
