// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestMerge checks that elements of two families come in the order of their frames.
func TestMerge(t *testing.T) {
	var frames []int
	var order []uint64
	merge([]digest.Digest{{1}, {2}, {3}}, []uint32{0, 0, 4}, []digest.Digest{{9}, {8}}, []uint32{1, 5}, func(d digest.Digest, frame int) {
		frames, order = append(frames, frame), append(order, d[0])
	})
	if len(order) != 5 || order[2] != 9 || order[4] != 8 || frames[2] != 1 || frames[4] != 5 {
		t.Errorf("elements %v of frames %v", order, frames)
	}
}
