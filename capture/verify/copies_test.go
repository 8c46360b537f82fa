// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"testing"
	"time"
)

// TestManyEqual has equal packets of which none was kept, all within a window. Comparing each with
// all before it would take hours.
func TestManyEqual(t *testing.T) {
	const n = 1_000_000
	ended := 0
	c := newCopies(&Config{Window: time.Second, Memory: n * sightingBytes}, func(*inputPacket, bool) { ended++ })
	for i := range uint64(n) {
		c.add(inputPacket{time: int64(i), number: i + 1, judged: i + 1, state: pending})
	}
	c.finish()
	if ended != n {
		t.Errorf("%d of %d packets matched nothing", ended, n)
	}
}
