// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"math/bits"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// appendDerived appends the little-endian pcapng description of an interface that was
// derived from another one, with the clock of that one.
func appendDerived(p []byte, it *capture.Interface) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, capture.BlockInterface)
	p = le.AppendUint32(p, uint32(it.LinkType))
	p = le.AppendUint32(p, it.SnapLen)
	p = encoding.AppendOption(p, encoding.OptName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	p = encoding.AppendOption(p, encoding.OptTSResol, string([]byte{byte(resolutionOf(it.TicksPerSecond))}))
	if it.OffsetSeconds != 0 {
		p = encoding.AppendCount(p, encoding.OptTSOffset, uint64(it.OffsetSeconds))
	}
	p = le.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}

// resolutionOf is the inverse of resolution.ticksPerSecond.
func resolutionOf(ticks uint64) resolution {
	for n := range uint(19) {
		if ticks == power10(n) {
			return resolution(n)
		}
	}
	return resolution(0x80 | bits.Len64(ticks) - 1)
}
