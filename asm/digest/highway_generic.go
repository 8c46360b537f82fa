// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"

	"github.com/minio/highwayhash"
)

func (h *Highway) sumMessagesGeneric(dst []Digest, buf []byte, msgs []Message) {
	for i := range msgs {
		dst[i] = h.sum(buf, &msgs[i])
	}
}

func (h *Highway) sum(buf []byte, m *Message) Digest {
	var prefix [highwayhash.Size]byte
	binary.LittleEndian.PutUint64(prefix[:8], uint64(m.Len))
	binary.LittleEndian.PutUint64(prefix[8:], m.Tweak)
	state := h.fresh
	state.Write(prefix[:])
	state.Write(buf[m.Off:][:m.Len])
	var out [highwayhash.Size128]byte
	state.Sum(out[:0])
	return Digest{binary.LittleEndian.Uint64(out[:8]), binary.LittleEndian.Uint64(out[8:])}
}
