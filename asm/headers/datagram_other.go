// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package headers

import "github.com/flowdedup/flowdedup/asm/digest"

// findVectors leaves all messages to its caller.
func (d *Datagrams) findVectors([]digest.Message, []uint16, []uint64, []byte) (int, Found) {
	return 0, 0
}
