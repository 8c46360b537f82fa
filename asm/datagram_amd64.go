//go:build amd64 && !purego

package asm

import "unsafe"

// placeVectors places the messages that fill whole vectors, and returns how many they
// are.
func (d *Datagrams) placeVectors(msgs []Message, numbers []uint16, rest []uint64, buf []byte) (done int) {
	groups := len(msgs) / 8
	if level != levelAVX512 || groups == 0 || len(buf) < datagramReach {
		return 0
	}
	placeDatagramsAVX512(&msgs[0], &numbers[0], (*uint8)(unsafe.Pointer(&rest[0])), groups, &buf[0], len(buf)-datagramReach, d)
	return 8 * groups
}

// placeDatagramsAVX512 places groups of eight messages, 1 or more. What it reads of a
// frame starts at offsets up to last. Each group has a byte of rest.
//
//go:noescape
func placeDatagramsAVX512(msgs *Message, numbers *uint16, rest *uint8, groups int, buf *byte, last int, d *Datagrams)
