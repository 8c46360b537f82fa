// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package headers

import "github.com/flowdedup/flowdedup/asm/digest"

// listVectors lists nothing: without loads from eight places at once vectors gain
// nothing.
func (t *Tuples) listVectors(_, _ *TupleList, _ []digest.Message, _ uint32, _ []byte) (done int) {
	return 0
}

// hashVectors hashes nothing, for the same reason.
func (e *Ends) hashVectors([]uint64, []digest.Message, []byte) (done int, others uint64) {
	return 0, 0
}

// openVectors opens nothing, for the same reason.
func (t *Tunnels) openVectors(*Datagrams, []digest.Message, []uint16, []uint64, []uint64, []byte, int) (int, Found) {
	return 0, 0
}
