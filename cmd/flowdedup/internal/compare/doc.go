// Package compare wires capture/compare to two inputs and to outputs for the packets of one
// side alone, and turns what it measured into the answer of "flowdedup compare".
package compare
