// SPDX-License-Identifier: Apache-2.0

// Package sink writes the kept and the removed packets of a run: to files and pipes, over
// networks, and out of interfaces.
//
// A [Set] holds the outputs of a run. A run can be ended while a reader sleeps or a disk stands
// still. A pipe or an address has a goroutine of its own for calls that may block: 0.4 s after
// the context is done such a call is given up, with [ErrBlocked]. The caller of [Set.Write] writes
// to a file on a disk of this machine itself, and [Set.GiveUp] says when that call hangs; the end
// of such a file gets ten seconds. An interface needs neither: sending never blocks for long.
//
// A new kind of output implements destination and is opened by Set.OpenFiles or, if that needs
// privileges, as OpenForward does.
//
//	question                           file
//	what an output must do; its state  output.go
//	who gets which packets             set.go; balance.go shares them
//	a file, a pipe, a series of files  file.go
//	an interface (--forward); peers    forward.go
//	calls that block                   blocked.go
//	records encoded ahead              encode.go
//	names at the end of a run          end.go
//	numbers for summaries and metrics  status.go
package sink
