// SPDX-License-Identifier: Apache-2.0

//go:build !arm64 || purego

package digest

// highwayKernel is empty: the library hashes.
type highwayKernel struct{}

func newHighwayKernel([32]byte) (none highwayKernel) { return none }

func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	h.sumMessagesGeneric(dst, buf, msgs)
}
