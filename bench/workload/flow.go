package workload

const (
	protoTCP = 6
	protoUDP = 17

	firstPort = 1024
	portCount = 65536 - firstPort
	// portStep has no factor in common with portCount (2^10 * 3^2 * 7), so that
	// its multiples visit every port.
	portStep = 25_013
)

var serverPorts = [...]uint16{443, 443, 443, 80, 53, 22, 8080, 5060}

// flow is a five-tuple. src and dst number the hosts of either side; every
// number stands for an IPv4 and an IPv6 address.
type flow struct {
	src, dst     uint32
	sport, dport uint16
	proto        uint8
	v6           bool
}

// population maps flow numbers to flows, without a table. Different numbers
// have different five-tuples: flows of one source differ in their port.
type population struct {
	seed     uint64
	sources  uint32
	targets  uint32
	v6Border uint32 // a flow is IPv6 where 32 bits of its hash lie below
	allV6    bool
}

func newPopulation(c *Config) *population {
	return &population{
		seed:     mix(c.Seed),
		sources:  uint32(max(1, c.Flows/4, (c.Flows+portCount-1)/portCount)),
		targets:  uint32(max(1, c.Flows/16)),
		v6Border: uint32(c.IPv6 * (1<<32 - 1)),
		allV6:    c.IPv6 == 1,
	}
}

func (p *population) flow(number uint32) flow {
	hash := mix(p.seed + uint64(number))
	more := mix(hash)
	src, turn := number%p.sources, uint64(number/p.sources)
	f := flow{
		src:   src,
		dst:   uint32(uint64(uint32(more)) * uint64(p.targets) >> 32),
		sport: uint16(firstPort + (turn*portStep+uint64(src)*7919)%portCount),
		dport: serverPorts[more>>61],
		proto: protoTCP,
		v6:    p.allV6 || uint32(hash) < p.v6Border,
	}
	if hash>>62 == 0 {
		f.proto = protoUDP
	}
	return f
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
