// Package inspect wires capture/inspect to inputs and interfaces, and turns what it
// measured into the answer of "flowdedup inspect": a sentence, and a command to run.
package inspect
