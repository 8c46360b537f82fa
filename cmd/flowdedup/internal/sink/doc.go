// Package sink is where the packets of a run go: files, pipes and an interface, for
// those kept and for those removed.
//
// A [Set] holds the outputs of a run. Each has a goroutine of its own that does what
// may block, so that a run can be ended while a reader sleeps or a disk stands still:
// half a second after the context is done a call that blocks is given up, with
// [ErrBlocked].
package sink
