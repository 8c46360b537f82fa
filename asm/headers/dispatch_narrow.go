// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package headers

import "github.com/flowdedup/flowdedup/asm/digest"

// Without loads from eight places at once vectors gain nothing for what follows: its callers do all of it
// in Go.

func (t *Tuples) listVectors(_, _ *TupleList, _ []digest.Message, _ uint32, _ []byte) (done int) {
	return 0
}

func (e *Ends) hashVectors([]uint64, []digest.Message, []byte) (done int, others uint64) {
	return 0, 0
}

func (t *Tunnels) openVectors(*Datagrams, []digest.Message, []uint16, []uint64, []uint64, []byte, int) (int, Found) {
	return 0, 0
}
