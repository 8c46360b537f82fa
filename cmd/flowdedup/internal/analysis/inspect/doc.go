// SPDX-License-Identifier: Apache-2.0

// Package inspect measures how a stream of packets is duplicated: how many copies it has,
// between which points and how late, how they differ from their originals, and which equal
// packets are no copies. It recommends a de-duplication, and counts the packets that it would
// remove. It removes nothing.
//
// An [Inspector] receives the batches of a stream in order. A [Batch] prepares a batch, in any
// worker. [Inspector.Report] returns the results so far. Nothing in a
// report depends on how the stream is cut into batches. Memory is bounded, and a report says
// when the bound was hit.
//
//	question                                     file
//	a batch; the stream                          batch.go; inspector.go
//	remembered packets; what filters would keep  pool.go, table.go; measure.go
//	how a copy differs                           sighting.go, kind.go
//	where copies come from, and how late         matrix.go, path.go
//	copies that more ignored fields would find   trial.go; evidence.go
//	equal packets that are no copies             repeats.go, loops.go
//	conversations that an analyzer sees in part  sides.go
//	the result; the recommended flags            report.go; recommend.go
package inspect
