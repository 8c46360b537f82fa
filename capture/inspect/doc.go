// SPDX-License-Identifier: Apache-2.0

// Package inspect measures how a stream of packets is duplicated: how many copies it has,
// between which points and how late, how they differ from their originals, and which equal
// packets are no copies. It recommends a de-duplication, and counts the packets that it would
// remove. It removes nothing.
//
// An [Inspector] receives the batches of a stream in order. A [Batch] prepares one of them,
// and may do so in any worker. [Inspector.Report] returns the results so far. Nothing in a
// report depends on how the stream is cut into batches. Memory is bounded, and a report says
// when the bound was hit.
package inspect
