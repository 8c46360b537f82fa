//go:build !amd64 || purego

package asm

// listVectors can list nothing: without loads from eight places at once vectors would
// gain nothing.
func (t *Tuples) listVectors(_, _ *TupleList, _ []Message, _ uint32, _ []byte) (done int, can bool) {
	return 0, false
}
