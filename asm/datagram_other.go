//go:build !amd64 || purego

package asm

// placeVectors leaves all messages to its caller: without loads from eight places at
// once vectors would gain nothing.
func (d *Datagrams) placeVectors([]Message, []uint16, []uint64, []byte) (done int) { return 0 }
