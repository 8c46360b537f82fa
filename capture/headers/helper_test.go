// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture"
)

// decode decodes all frames of a batch.
func decode(cfg DecoderConfig, b *capture.Batch) []Header {
	h := make([]Header, len(b.Frames))
	NewDecoder(cfg).Decode(h, b, 0)
	return h
}

// decodeOne decodes a single frame.
func decodeOne(cfg DecoderConfig, link capture.LinkType, data []byte) Header {
	return decode(cfg, newBatch(link, data))[0]
}

// The functions below build packets by hand, so that tests do not depend on what a library
// believes about a protocol.

// tail reports whether h delimits the datagram at the end of data.
func tail(h Header, data, datagram []byte) bool {
	return int(h.End) == len(data) && slices.Equal(data[h.Start:h.End], datagram)
}
