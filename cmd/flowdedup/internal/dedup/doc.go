// Package dedup runs the removal of duplicate packets from a stream: it wires
// sources, identities, digests, a filter and writers together, and counts what
// happens.
package dedup
