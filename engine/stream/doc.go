// SPDX-License-Identifier: Apache-2.0

// Package stream tells which elements of an endless stream came before, in constant
// memory. A Filter has rows of fingerprints, a stable Bloom filter or another method of
// the literature, in lines of 64 bytes. Packets is a Filter as an engine.PacketFilter,
// Counter one as an engine.Counter. For windows see package window. Errors wrap
// ErrParameter, engine.ErrFPR or engine.ErrMemory.
package stream
