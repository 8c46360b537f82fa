// SPDX-License-Identifier: Apache-2.0

// Package affinity remembers of each conversation its home: the capture point that its
// packets are taken from, where they are seen at several.
//
// A [Table] is asked about packets in the order of their stream. [Table.AtHome] tells
// which of them come from the home of their conversation, and moves homes that deliver no
// more. Conversations and points are keyed hashes, as flow.SightingReader makes them.
//
// A packet touches one line of 64 bytes (layout/affinity.go). A full line forgets the
// conversation that was seen longest ago. Its next packet makes its point the home again.
// So where memory does not do, packets are taken from where they are seen first.
package affinity
