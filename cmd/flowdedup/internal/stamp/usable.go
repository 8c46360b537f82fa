package stamp

import (
	"math"

	"github.com/flowdedup/flowdedup/capture"
)

// Usable returns a time that may be relied on. Times beyond what 64 bits hold,
// in 2262, were cut to the last instant, so they tell neither an hour nor how
// far apart two packets were: they count as none.
func Usable(t int64) int64 {
	if t == math.MaxInt64 {
		return capture.NoTime
	}
	return t
}
