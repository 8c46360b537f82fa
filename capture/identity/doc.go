// SPDX-License-Identifier: Apache-2.0

// Package identity takes from each packet the bytes by which packets are compared. Two packets
// with equal bytes are the same packet, seen twice.
//
// A [Config] says which bytes: of the IP datagram, of the whole frame, or of the datagram in
// the innermost tunnel, without the fields in [Ignore]. An [Identity] lists them as [Messages],
// which a digester sums. Most messages lie in the batch, and are digested under masks that leave out
// the fields that do not count; few are copied.
//
// FromFrames reads frames; FromHeaders reads frames that a headers.Decoder has described.
// Both give the same messages. FromFrames is faster where nothing else needs a header.
//
// A [Doubt] is a truncated packet that another packet may equal in all that was captured.
// [IntegrityOf] verifies the checksum of a packet.
//
//	question                         file
//	which bytes count                config.go, fields.go, options.go
//	frames to messages               identity.go, zerocopy.go, masks.go
//	link headers; frames without IP  link.go; nonip.go
//	truncated packets; checksums     evidence.go; integrity.go
//	packets that no receiver takes   broken.go
package identity
