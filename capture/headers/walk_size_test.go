// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/bits"
	"testing"
	"unsafe"
)

// TestWalkSize holds the size of a walk: a larger one is cleared and copied in a slower way.
func TestWalkSize(t *testing.T) {
	if size := unsafe.Sizeof(walk{}); bits.UintSize == 64 && size > 128 {
		t.Errorf("a walk has %d bytes, want 128 at most", size)
	}
}
