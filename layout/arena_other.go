// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package layout

import (
	"errors"
)

// maxHeap is the most that is asked of the Go heap, since the runtime ends the process
// when it cannot deliver: 1 TiB, or 1 GiB where pointers have 32 bits.
const maxHeap = 1 << (30 + 10*(^uintptr(0)>>63))

func systemHuge() int { return hugePage }

// mapMemory returns size bytes of the heap, or ErrArenaSize.
func mapMemory(size int) ([]byte, error) {
	if uint64(size) > maxHeap {
		return nil, ErrArenaSize
	}
	return heapMemory(size), nil
}

func adviseHuge([]byte) {}

func populate([]byte) error { return errors.ErrUnsupported }

func release([]byte) {}

func move(_, _ []byte) bool { return false }

func unmapMemory([]byte) error { return nil }

func memoryAvailable() (int64, bool) { return memoryLimit() }
