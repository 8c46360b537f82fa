// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFollowed follows the advice about captures that were truncated in many ways, and whose
// copies come late: the command removes exactly what inspect says.
func TestFollowed(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 11))
	advised := 0
	for _, name := range []string{"router-plain.pcapng", "router-vlan.pcapng", "router-qinq.pcapng", "router-snap96.pcapng"} {
		whole := clitest.ReadStream(t, clitest.Bundled(name))
		for range 30 {
			stream := truncate(rng, whole)
			r := clitest.RunInspect(t, cli.ExitDone, clitest.WriteStream(t, stream, 4))
			if r.Recommendation.Dedup {
				advised++
				clitest.Checked(t, &r)
			}
		}
	}
	if advised < 60 {
		t.Errorf("%d commands", advised)
	}
}

// truncate cuts packets of a stream, by interface or at random, and makes it slower.
func truncate(rng *rand.Rand, whole []clitest.Seen) (stream []clitest.Seen) {
	lengths := [4]int{34 + rng.IntN(70), 34 + rng.IntN(70), 34 + rng.IntN(70), 1 << 16}
	by, slower := rng.IntN(3), [4]int64{1, 10, 300, 2000}[rng.IntN(4)]
	for _, p := range whole {
		cut := lengths[0]
		switch by {
		case 1:
			cut = lengths[p.Iface]
		case 2:
			cut = lengths[rng.IntN(len(lengths))]
		}
		p.Data = p.Data[:min(cut, len(p.Data))]
		p.Time = whole[0].Time + (p.Time-whole[0].Time)*slower
		stream = append(stream, p)
		if rng.IntN(20) == 0 { // again, at the same point
			p.Time += int64(time.Microsecond)
			stream = append(stream, p)
		}
	}
	slices.SortStableFunc(stream, func(a, b clitest.Seen) int { return cmp.Compare(a.Time, b.Time) })
	return stream
}
