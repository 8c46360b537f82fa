// SPDX-License-Identifier: Apache-2.0

package export

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestOwnRecords reads the messages of softflowd: sequence numbers count the records of flows before
// and in a message. The first message and each 16th after it have templates, and a record about
// the exporter, which does not count. Loss is exact from the first message on.
func TestOwnRecords(t *testing.T) {
	about := slices.Concat(
		exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)),
		exporttest.Set(3, []byte{1, 1, 0, 2, 0, 1}, exporttest.Fields([3]uint32{143, 4}, [3]uint32{160, 8})),
		exporttest.Set(257, exporttest.Words(1234, 0, 900)))
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all [][]byte
		number, pause, flow := uint32(0), uint32(rng.IntN(2)), exporttest.Flows[0]
		lost, missing := uint64(0), uint64(0)
		for i := range uint32(1 + rng.IntN(40)) {
			n := 1 + rng.IntN(12)
			number += uint32(n)
			if i > 0 && rng.IntN(8) == 0 {
				missing += uint64(n)
				continue
			}
			lost, missing = lost+missing, 0 // nothing shows the loss of the last messages
			flow.SourcePort++               // no message comes twice
			sets := exporttest.Set(256, slices.Repeat(exporttest.UsualRecord(flow), n))
			if i%16 == 0 {
				sets = append(slices.Clone(about), sets...)
			}
			all = append(all, exporttest.IPFIX(900+i*pause, number, 0, sets))
		}
		_, n := read(t, all...)
		if n.Lost != lost || n.Restarts != 0 {
			t.Fatalf("history %d of %d messages: lost %d, restarts %d; want %d lost", seed, len(all), n.Lost, n.Restarts, lost)
		}
	}
}
