// SPDX-License-Identifier: Apache-2.0

// Package pipeline takes the packets of a source through workers, in order.
//
// A [Pipeline] gives each worker a batch. Work that needs no other batch (reading a regular
// file, finding headers, digests) happens in parallel. Work that depends on the order of
// packets (verdicts, counts, writing) happens batch after batch. So the result does
// not depend on the number of workers.
//
//	source ─► read ─► Prepare ─► Judge ─► Write
//	           in parallel      in order  in order
//
// The work is a [Task]; [InOrder] makes a Task of a function: see the example. The pipeline knows
// nothing of filters: package capture/dedup has tasks that remove copies. [Pipeline.Run] returns the
// errors of the source, of the context and of tasks.
//
//	question                            file
//	tasks; workers and what they do     pipeline.go
//	what happens batch after batch      order.go
package pipeline
