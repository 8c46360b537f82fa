// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package digest

import (
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestHighwayLevels compares the kernel with the library, as TestAESMessageLevels does.
func TestHighwayLevels(t *testing.T) {
	h := NewHighway([32]byte{7: 9})
	kerneltest.ForLevels(t, func(t *testing.T) {
		compareMessages(t, h, genericHighway{h})
		compareShortBuffers(t, h, genericHighway{h})
	})
}

// genericHighway is HighwayHash by the library.
type genericHighway struct{ *Highway }

func (g genericHighway) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	g.sumMessagesGeneric(dst, buf, msgs)
}
