//go:build (!amd64 && !arm64) || purego

package asm

func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	h.sumMessagesGeneric(dst, buf, msgs)
}
