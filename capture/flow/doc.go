// Package flow turns captured frames into what duplicate detection works on.
//
// A [Decoder] finds the IP header of each frame of a batch, below link
// headers, VLAN tags, MPLS labels, PPPoE and the like, and on request inside
// tunnels. An [Identity] gathers the bytes that make two packets the same
// packet; a [Keyer] gathers addresses and flows as records of fixed size, and
// [Keyers] does so for several kinds of them at once. Identity and Keyers also
// decode by themselves, which is faster where nothing else needs a [Header]. All
// of them work on runs of frames, keep their memory from call to call, and trust
// nothing that a frame says: whatever the bytes are, decoding takes time
// linear in their number and never reads outside the captured part.
package flow
