// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// Within returns the reader of packets' points for Parts.Within: packets of different points
// are no copies of each other. Inner identities have the points of the innermost headers.
func Within(fields traits.PointFields, kind identity.Kind, key secret.Secret) traits.SightingConfig {
	seed := key.AESKey(secret.Sightings)
	return traits.SightingConfig{Inner: kind == identity.Inner, Fields: fields, Seed: binary.LittleEndian.Uint64(seed[:])}
}

// separate makes the digests of equal packets differ if their points do. A point is a keyed
// hash of 64 bits. Two mixers make a mask of 128 bits of it, so the digests at two points are
// as different as the digests of different packets.
func separate(digests []digest.Digest, points []uint64) {
	for i, point := range points[:len(digests)] {
		digests[i][0] ^= mix(point)
		digests[i][1] ^= mix(^point)
	}
}

// mix is a bijection: the finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
