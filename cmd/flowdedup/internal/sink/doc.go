// SPDX-License-Identifier: Apache-2.0

// Package sink is where the packets of a run go: files, pipes and an interface, for
// those kept and for those removed.
//
// A [Set] holds the outputs of a run. Each file or pipe has a goroutine of its own for calls
// that may block, so that a run can be ended while a reader sleeps or a disk stands still: 0.4
// s after the context is done a call that blocks is given up, with [ErrBlocked]. An interface
// needs none: sending never blocks for long.
package sink
