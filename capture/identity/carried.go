// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Some captures put a header of their own before each frame: when and how strongly a radio
// heard it, or which process it belongs to. No such header is part of an identity. Where
// nothing better is known of a frame without IP than its bytes, those behind the header are
// compared, without the frame check sequence: encrypted, management and control frames of
// 802.11, frames of 802.15.4. So a frame that is sent again counts as another one, since its
// retry bit is set, or its sequence number differs.

// tweakCarried is the top byte of the tweak of such identities. The length of the frame on
// the wire follows.
const tweakCarried = 4 << 56

// skipCaptureHeaders has messages of whole frames begin behind the headers of the capture.
func skipCaptureHeaders(msgs []digest.Message, b *capture.Batch, from int) {
	for i := range b.Interfaces {
		if headers.HasCaptureHeader(b.Interfaces[i].LinkType) {
			for i := range msgs {
				n := headers.CaptureHeader(b, from+i)
				msgs[i].Off += n
				msgs[i].Len -= n
				msgs[i].Tweak = tweakFrame | uint64(b.Frames[from+i].WireLen-n)
			}
			return
		}
	}
}

// copyTo copies the part of the frame that fits dst.
func (f *nonIPFrame) copyTo(dst, buf []byte) {
	src := buf[f.payload:][:f.size+f.gapLen]
	n := copy(dst, f.head[:])
	if !f.carried {
		copy(dst[n:], src)
		return
	}
	n += copy(dst[n:], src[:f.gap])
	copy(dst[n:], src[f.gap+f.gapLen:])
	for _, at := range f.clear {
		if at > 0 {
			clear(dst[min(int(at), len(dst)):min(int(at)+6, len(dst))])
		}
	}
}
