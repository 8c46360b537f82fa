// SPDX-License-Identifier: Apache-2.0

// Package inspect measures how a stream of packets is duplicated: how many copies it has,
// between which points and how late, in what they differ from what they copy, and which
// equal packets are no copies. It says which de-duplication fits, and what that would
// remove. It removes nothing.
//
// An [Inspector] receives the batches of a stream in order. A [Batch] prepares one of them,
// and may do so in any worker. [Inspector.Report] returns what was measured so far. Nothing
// in a report depends on how the stream is cut into batches. Memory is bounded, and a
// report says when the bound was hit.
package inspect
