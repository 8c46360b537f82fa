// SPDX-License-Identifier: Apache-2.0

// Package flow turns captured frames into what duplicate detection works on: identities
// of packets, and keys such as addresses and flows. It is the only package that knows
// link layers, IP and tunnels. It neither digests (see asm/digest) nor remembers anything
// between batches.
//
// A [Decoder] finds the IP header of each frame and describes it in a [Header]. It reads
// through link headers, VLAN tags, MPLS labels, PPPoE and the like, and on request
// through tunnels. An [Identity] collects the bytes that make two packets the same
// packet, as [Messages] for a digester. A [Keyer] makes keys, of one or more kinds in
// one pass, as records of fixed size.
// [CapturePoints] numbers the places where frames were seen. A [SightingReader] hashes, of
// each frame, its conversation and the point where it was seen. [Decoder.Layers] lists the
// headers of one frame.
//
// FromHeaders works on frames that are decoded already. FromFrames decodes by itself,
// which is faster where nothing else needs a Header.
//
// All types work on runs of frames and keep their buffers from call to call. None trusts
// what a frame says: decoding takes time linear in the length of the frame and never
// reads beyond the captured bytes. A configuration without meaning is an error of
// KeyConfig.Validate, or a panic of the constructors.
package headers
