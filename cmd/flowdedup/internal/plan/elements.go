package plan

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// elements makes the digests of the elements of packets.
type elements interface {
	// each calls add with the digest of each element and the number of its frame,
	// counted from the first of the run, in the order of frames.
	each(b *capture.Batch, from int, h []flow.Header, add func(d digest.Digest, frame int))
}

// newElements makes digests without a secret, so that a measurement can be repeated.
func newElements(c *Config) elements {
	key := secret.Secret{}
	if c.Of.Packets {
		return &identities{
			identity: flow.NewIdentity(flow.IdentityConfig{Kind: flow.L3}),
			digester: digest.NewAES(key.AESKey(secret.Packets)),
		}
	}
	return &keys{
		keyer:     flow.NewKeyer(flow.KeyConfig{Kind: c.Of.Key}),
		addresses: c.Of.Key <= flow.IP,
		ipv6:      c.IPv6,
		v4:        digest.NewAES(key.AESKey(secret.IPv4)),
		v6:        digest.NewAES(key.AESKey(secret.IPv6)),
	}
}

// identities are packets, by the identity that "flowdedup dedup" compares.
type identities struct {
	identity *flow.Identity
	digester *digest.AES
	digests  [step]digest.Digest
}

func (p *identities) each(b *capture.Batch, from int, h []flow.Header, add func(digest.Digest, int)) {
	p.identity.FromHeaders(b, from, h).Sum(p.digests[:len(h)], p.digester)
	for i, d := range p.digests[:len(h)] {
		add(d, i)
	}
}

// keys are addresses of one family, or tuples and hardware addresses of all.
type keys struct {
	keyer     *flow.Keyer
	addresses bool
	ipv6      bool
	v4, v6    *digest.AES
	wide      [][16]byte
	first     []digest.Digest
	second    []digest.Digest
}

func (k *keys) each(b *capture.Batch, from int, h []flow.Header, add func(digest.Digest, int)) {
	g := k.keyer.FromHeaders(b, from, h)
	k.wide = append(append(k.wide[:0], g.V4...), g.MAC...)
	for _, address := range g.Addr4 {
		var key [16]byte
		binary.BigEndian.PutUint32(key[:], address)
		k.wide = append(k.wide, key)
	}
	k.first, k.second = room(k.first, len(k.wide)), room(k.second, len(g.V6))
	k.v4.Sum16(k.first, k.wide)
	k.v6.Sum48(k.second, g.V6)
	frames := append(append([]uint32(nil), g.V4Frame...), g.MACFrame...)
	switch {
	case k.addresses && k.ipv6:
		merge(nil, nil, k.second, g.V6Frame, add)
	case k.addresses:
		merge(k.first, frames, nil, nil, add)
	default:
		merge(k.first, frames, k.second, g.V6Frame, add)
	}
}

func room(s []digest.Digest, n int) []digest.Digest {
	if cap(s) < n {
		return make([]digest.Digest, n)
	}
	return s[:n]
}

// merge adds two lists of elements in the order of their frames.
func merge(a []digest.Digest, framesA []uint32, b []digest.Digest, framesB []uint32, add func(digest.Digest, int)) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if j == len(b) || i < len(a) && framesA[i] <= framesB[j] {
			add(a[i], int(framesA[i]))
			i++
			continue
		}
		add(b[j], int(framesB[j]))
		j++
	}
}
