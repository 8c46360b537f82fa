package stream

import (
	"math"
	"math/rand/v2"
)

// Crawl is a stream with the gaps of a web crawler's: new elements, numbered as
// they come, and copies of what came some records before. A copy repeats the
// record at a random lag, whose distribution is [crawlLags].
//
// It replaces the crawl of Deng and Rafiei, SIGMOD 2006, which is not public. Their
// methods rank on it as in their Table 2. A buffer of 256 to 65,536 elements misses 67,
// 49 and 27 % of the duplicates of ten million records, where they print 66, 52 and 32 %.
type Crawl struct {
	random  *rand.Rand
	records []uint32 // all so far
	next    uint32   // the next new element
}

// crawlNew is the probability of a new element.
const crawlNew = 0.4851

// crawlLags is the distribution of lags, in units of crawlUnit records: the share of lags
// that are at most 2^octave. In between it is linear in the logarithm. Lags beyond the
// start of the stream are drawn again.
var crawlLags = []struct{ octave, share float64 }{
	{0, 0}, {8, 0.343}, {12, 0.485}, {16, 0.683}, {20, 0.89}, {24, 1},
}

const crawlUnit = 3

// NewCrawl returns the stream of n records, at most 2^32. It takes 4 n bytes.
func NewCrawl(n int, seed uint64) *Crawl {
	return &Crawl{random: rand.New(rand.NewPCG(seed, 0)), records: make([]uint32, 0, n)}
}

// Next returns the next element, which is below n; ok is false at the end.
func (c *Crawl) Next() (element uint64, ok bool) {
	i := len(c.records)
	if i == cap(c.records) {
		return 0, false
	}
	id := c.next
	if i <= crawlUnit || c.random.Float64() < crawlNew {
		c.next++
	} else {
		id = c.records[i-c.lag(i)]
	}
	c.records = append(c.records, id)
	return uint64(id), true
}

// lag draws a lag of at most most, which is above crawlUnit.
func (c *Crawl) lag(most int) int {
	share := c.random.Float64() * crawlShare(float64(most)/crawlUnit)
	for j := 1; ; j++ {
		from, to := crawlLags[j-1], crawlLags[j]
		if share <= to.share {
			octave := from.octave + (to.octave-from.octave)*(share-from.share)/(to.share-from.share)
			// Rounding must not lead before the first record.
			return min(int(math.Ceil(crawlUnit*math.Exp2(octave))), most)
		}
	}
}

// crawlShare returns the share of lags that are at most the given number of
// units.
func crawlShare(units float64) float64 {
	octave := math.Log2(units)
	for j := 1; j < len(crawlLags); j++ {
		from, to := crawlLags[j-1], crawlLags[j]
		if octave <= to.octave {
			return from.share + (to.share-from.share)*(octave-from.octave)/(to.octave-from.octave)
		}
	}
	return 1
}
