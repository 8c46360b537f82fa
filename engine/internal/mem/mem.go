// SPDX-License-Identifier: Apache-2.0

// Package mem has the common code of filters in arenas: checks, sizes, and populating
// memory before its use.
package mem

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

// MaxDefault bounds the default size of a filter, in bytes.
const MaxDefault = 256 << 20

// MaxCellLines is the most lines that kernels of cell lines can address, 256 GiB.
const MaxCellLines = 1<<32 - 1

// CellLines returns how many lines memory holds, given in bytes. The error wraps
// engine.ErrMemory.
func CellLines(memory int) (int, error) {
	const most = uint64(MaxCellLines) * layout.LineSize
	if memory < layout.LineSize || uint64(memory) >= most+layout.LineSize {
		return 0, fmt.Errorf("%w: %d bytes, must be from %d, a line, to %d", engine.ErrMemory, memory, layout.LineSize, most)
	}
	return memory / layout.LineSize, nil
}

// populateStep is the number of lines that are populated between two checks of the
// context: 64 MiB.
const populateStep = 1 << 20

// Populate has the system back an arena's memory now. It returns the error of ctx, if ctx
// ends before.
func Populate(ctx context.Context, a *layout.Arena) error {
	n := len(a.Lines())
	for from := 0; from < n; from += populateStep {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Populate(from, min(from+populateStep, n))
	}
	return nil
}

// MapBytes estimates the size of a Go map of n keys and values of entry bytes together.
// Slots have a control byte each, come in groups of eight, and double when more than 7 of
// 8 are taken.
func MapBytes(n, entry int) int {
	slots := 8
	if n > slots {
		slots = 1 << bits.Len(uint((8*n-1)/7))
	}
	return slots * (entry + 1)
}
