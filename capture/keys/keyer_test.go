// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// texts returns the formatted keys of a batch with the frames they come from,
// IPv4 first, then IPv6, then hardware addresses.
func texts(t *testing.T, cfg Config, b *capture.Batch) (out []string, frames []uint32) {
	t.Helper()
	keys := NewKeyer([]Config{cfg}, headers.DecoderConfig{}).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b))[0]
	for _, a := range keys.Addr4 {
		out = append(out, string(cfg.AppendAddr4(nil, a)))
	}
	for _, k := range keys.V4 {
		out = append(out, cfg.Format16(k))
	}
	for _, k := range keys.V6 {
		out = append(out, cfg.Format48(k))
	}
	for _, k := range keys.MAC {
		out = append(out, cfg.Format16(k))
	}
	frames = slices.Concat(keys.V4Frame, keys.V6Frame, keys.MACFrame)
	if len(out) != len(frames) {
		t.Fatalf("%d keys of %d frames", len(out), len(frames))
	}
	return out, frames
}

func TestKeys(t *testing.T) {
	broadcast := with(arpFrame, 0, "\xff\xff\xff\xff\xff\xff")
	b := newBatch(capture.LinkEthernet,
		ether(iana.TypeIPv4, packet4), broadcast,
		ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeIPv6), packet6)),
	)
	for _, c := range []struct {
		cfg    Config
		want   []string
		frames []uint32
	}{
		{Config{Kind: Src}, []string{"10.0.0.1", "2001:db8::1"}, []uint32{0, 2}},
		{Config{Kind: Dst}, []string{"10.0.1.1", "2001:db8:1::1"}, []uint32{0, 2}},
		{Config{Kind: IP}, []string{"10.0.0.1", "10.0.1.1", "2001:db8::1", "2001:db8:1::1"}, []uint32{0, 0, 2, 2}},
		{Config{Kind: Pair}, []string{"10.0.0.1 > 10.0.1.1", "2001:db8::1 > 2001:db8:1::1"}, []uint32{0, 2}},
		{Config{Kind: Flow}, []string{"udp 10.0.0.1:1000 > 10.0.1.1:53", "tcp [2001:db8::1]:1000 > [2001:db8:1::1]:80"}, []uint32{0, 2}},
		{Config{Kind: Biflow}, []string{"udp 10.0.0.1:1000 <> 10.0.1.1:53", "tcp [2001:db8::1]:1000 <> [2001:db8:1::1]:80"}, []uint32{0, 2}},
		{Config{Kind: MACs}, []string{"02:00:00:00:00:02", "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:02", "02:00:00:00:00:01"}, []uint32{0, 0, 1, 2, 2}},
		{Config{Kind: Src, Mask4: 24, Mask6: 64}, []string{"10.0.0.0/24", "2001:db8::/64"}, []uint32{0, 2}},
		{Config{Kind: Dst, Mask4: 32, Mask6: 128}, []string{"10.0.1.1", "2001:db8:1::1"}, []uint32{0, 2}},
		{Config{Kind: Pair, Mask4: 8, Mask6: 32}, []string{"10.0.0.0/8 > 10.0.0.0/8", "2001:db8::/32 > 2001:db8::/32"}, []uint32{0, 2}},
		{Config{Kind: Flow, Mask4: 16, Mask6: 127}, []string{"udp 10.0.0.0/16:1000 > 10.0.0.0/16:53", "tcp [2001:db8::/127]:1000 > [2001:db8:1::/127]:80"}, []uint32{0, 2}},
		{Config{Kind: Src, VLAN: true}, []string{"10.0.0.1", "2001:db8::1 vlan 100"}, []uint32{0, 2}},
		{Config{Kind: Biflow, VLAN: true}, []string{"udp 10.0.0.1:1000 <> 10.0.1.1:53", "tcp [2001:db8::1]:1000 <> [2001:db8:1::1]:80 vlan 100"}, []uint32{0, 2}},
		{Config{Kind: MACs, VLAN: true}, []string{"02:00:00:00:00:02", "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:02 vlan 100", "02:00:00:00:00:01 vlan 100"}, []uint32{0, 0, 1, 2, 2}},
	} {
		got, frames := texts(t, c.cfg, b)
		if !slices.Equal(got, c.want) || !slices.Equal(frames, c.frames) {
			t.Errorf("%+v:\n got %q %v\nwant %q %v", c.cfg, got, frames, c.want, c.frames)
		}
	}
}

// allKeys returns configurations of all kinds, with and without masks and VLAN.
func allKeys() (all []Config) {
	for kind := range Kind(len(kindNames)) {
		all = append(all, Config{Kind: kind}, Config{Kind: kind, VLAN: true, Mask4: 20, Mask6: 70})
	}
	return all
}

// TestKeyer checks that both methods of a Keyer return the keys that a Keyer of one kind
// makes, with and without a kind that needs more of the frames than the others.
func TestKeyer(t *testing.T) {
	var ip []Config
	all := allKeys()
	for _, cfg := range all {
		if cfg.Kind != MACs {
			ip = append(ip, cfg)
		}
	}
	for _, b := range []*capture.Batch{newBatch(capture.LinkEthernet, mostlyFast()...), newBatch(capture.LinkEthernet, nearCopies()...), mixedLinks(), tunnelBatch()} {
		for _, cfgs := range [][]Config{nil, all, ip, {{Kind: Src}, {Kind: Dst}}, {{Kind: Src}, {Kind: Flow}}, {{Kind: MACs}}} {
			checkKeyer(t, cfgs, headers.DecoderConfig{}, b, 0)
			checkKeyer(t, cfgs, headers.DecoderConfig{Inner: true}, b, 0)
			checkKeyer(t, cfgs, headers.DecoderConfig{Inner: true}, b, len(b.Frames)-13)
			checkKeyer(t, cfgs, headers.DecoderConfig{}, b, len(b.Frames))
		}
	}
}

func checkKeyer(t *testing.T, cfgs []Config, how headers.DecoderConfig, b *capture.Batch, from int) {
	t.Helper()
	h := decode(headers.NewDecoder(how), b)[from:]
	slow, fast := NewKeyer(cfgs, how), NewKeyer(cfgs, how)
	ways := [][]*Keys{slow.FromHeaders(b, from, h), fast.FromFrames(b, from, len(h))}
	if len(cfgs) > 0 && (slow.WithoutIP() != fast.WithoutIP() || slow.WithoutPorts() != fast.WithoutPorts() || slow.unopened != fast.unopened) {
		t.Fatalf("%+v: %d without IP, want %d; %d without ports, want %d", cfgs, fast.WithoutIP(), slow.WithoutIP(), fast.WithoutPorts(), slow.WithoutPorts())
	}
	for way, all := range ways {
		for i, got := range all {
			if want := NewKeyer(cfgs[i:i+1], how).FromHeaders(b, from, h)[0]; !got.equal(want) {
				t.Fatalf("%+v of %+v from %d, way %d: got %x, want %x", cfgs[i], cfgs, from, way, got, want)
			}
		}
	}
}

// TestFromKeys makes keys from the keys of each kind that determines them, of some packets.
// They equal the keys of the packets, but for the order of the ends of a biflow.
func TestFromKeys(t *testing.T) {
	b := newBatch(capture.LinkEthernet, mostlyFast()...)
	for _, by := range allKeys() {
		if by.Kind < Pair || by.Kind == MACs {
			continue
		}
		var follow []Config
		for _, cfg := range allKeys() {
			if by.Determines(cfg) {
				follow = append(follow, cfg)
			}
		}
		keeper := NewKeyer([]Config{{Kind: Src}, by}, headers.DecoderConfig{})
		keeper.Keep(1)
		keeper.FromFrames(b, 0, 10)
		keeper.Forget()
		for _, run := range [][2]int{{0, 100}, {100, 3}, {103, len(b.Frames) - 103}} {
			keeper.FromFrames(b, run[0], run[1])
		}
		from := NewKeyer([]Config{by}, headers.DecoderConfig{}).FromFrames(b, 0, len(b.Frames))[0]
		v4, v6 := keeper.Kept(1)
		if !slices.Equal(v4, from.V4) || !slices.Equal(v6, from.V6) {
			t.Fatalf("%+v: kept %x and %x, want %x and %x", by, v4, v6, from.V4, from.V6)
		}
		following := NewKeyer(append([]Config{{Kind: MACs}}, follow...), headers.DecoderConfig{})
		for i, got := range following.FromKeys(v4, v6, everyThird(from.V4), everyThird(from.V6))[1:] {
			want := NewKeyer(follow[i:i+1], headers.DecoderConfig{}).FromFrames(thirds(b, from), 0, (len(from.V4)+2)/3+(len(from.V6)+2)/3)[0]
			got.V4Frame, got.V6Frame = slices.Clone(got.V4Frame), slices.Clone(got.V6Frame)
			for n, number := range got.V4Frame {
				got.V4Frame[n] = number / 3
			}
			for n, number := range got.V6Frame {
				got.V6Frame[n] = number/3 + uint32(len(from.V4)+2)/3
			}
			if by.Kind == Biflow && follow[i].Kind == IP {
				for _, keys := range []*Keys{got, want} {
					sortEnds(keys.Addr4, cmp.Compare)
					sortEnds(keys.V4, func(a, b [size4]byte) int { return bytes.Compare(a[:], b[:]) })
					sortEnds(keys.V6, func(a, b [size6]byte) int { return bytes.Compare(a[:], b[:]) })
				}
			}
			if !got.equal(want) {
				t.Errorf("%+v from %+v: got %x, want %x", follow[i], by, got, want)
			}
		}
	}
}

// everyThird returns the numbers of every third element.
func everyThird[K any](keys []K) (numbers []uint32) {
	for i := 0; i < len(keys); i += 3 {
		numbers = append(numbers, uint32(i))
	}
	return numbers
}

// thirds returns a batch of the frames that every third key comes from, IPv4 first.
func thirds(b *capture.Batch, keys *Keys) *capture.Batch {
	part := *b
	part.Frames = nil
	for _, frames := range [][]uint32{keys.V4Frame, keys.V6Frame} {
		for i := 0; i < len(frames); i += 3 {
			part.Frames = append(part.Frames, b.Frames[frames[i]])
		}
	}
	return &part
}

// sortEnds sorts the two elements of each packet.
func sortEnds[K any](keys []K, compare func(a, b K) int) {
	for i := 0; i+1 < len(keys); i += 2 {
		slices.SortFunc(keys[i:i+2], compare)
	}
}

func (k *Keys) equal(other *Keys) bool {
	return slices.Equal(k.Addr4, other.Addr4) &&
		slices.Equal(k.V4, other.V4) && slices.Equal(k.V4Frame, other.V4Frame) &&
		slices.Equal(k.V6, other.V6) && slices.Equal(k.V6Frame, other.V6Frame) &&
		slices.Equal(k.MAC, other.MAC) && slices.Equal(k.MACFrame, other.MACFrame)
}

// TestVLANZero checks that a priority tag differs from no tag.
func TestVLANZero(t *testing.T) {
	b := newBatch(capture.LinkEthernet, ether(iana.TypeIPv4, packet4), ether(iana.TypeVLAN, join(be16(0), be16(iana.TypeIPv4), packet4)))
	got, _ := texts(t, Config{Kind: Src, VLAN: true}, b)
	if want := []string{"10.0.0.1", "10.0.0.1 vlan 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// reversed swaps addresses and ports of a datagram.
func reversed(ip []byte) []byte {
	out := slices.Clone(ip)
	at, size, l4 := 12, 4, 20
	if ip[0]>>4 == 6 {
		at, size, l4 = 8, 16, 40
	}
	copy(out[at:], ip[at+size:at+2*size])
	copy(out[at+size:], ip[at:at+size])
	copy(out[l4:], ip[l4+2:l4+4])
	copy(out[l4+2:], ip[l4:l4+2])
	return out
}

// TestBiflow checks that both directions have the same key, whichever end is the smaller,
// and that the ports distinguish the ends of a flow from an address to itself.
func TestBiflow(t *testing.T) {
	self := ip4(1, iana.ProtoUDP, udp(9, 7, nil))
	copy(self[16:20], self[12:16])
	far6 := ip6(1, iana.ProtoTCP, tcp(5, 6, nil))
	copy(far6[8:], []byte{0xff, 0xfe})
	low6 := ip6(1, iana.ProtoTCP, tcp(5, 6, nil)) // ends that differ only in the last byte
	copy(low6[24:], low6[8:23])
	low6[39] = 0
	for _, ip := range [][]byte{packet4, packet6, self, far6, low6} {
		b := newBatch(capture.LinkRaw, ip, reversed(ip))
		for _, cfg := range []Config{{Kind: Biflow}, {Kind: Biflow, Mask4: 31, Mask6: 127}, {Kind: Biflow, Mask4: 8, Mask6: 8}} {
			if got, _ := texts(t, cfg, b); got[0] != got[1] {
				t.Errorf("%+v: %q", cfg, got)
			}
		}
		if got, _ := texts(t, Config{Kind: Flow}, b); got[0] == got[1] {
			t.Errorf("one flow for both directions: %q", got[0])
		}
	}
}

// TestPortless checks that keys without ports are shown without.
func TestPortless(t *testing.T) {
	later := slices.Clone(packet4)
	later[7] = 1
	b := newBatch(capture.LinkRaw, ip4(1, iana.ProtoICMP, []byte("\x08\x00....")), later, ip4(1, 200, nil))
	got, _ := texts(t, Config{Kind: Flow}, b)
	want := []string{"icmp 10.0.0.1 > 10.0.1.1", "udp 10.0.0.1 > 10.0.1.1", "ip-200 10.0.0.1 > 10.0.1.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMasks compares every prefix length with net/netip.
func TestMasks(t *testing.T) {
	b := newBatch(capture.LinkRaw, with(packet4, 12, "\xff\xff\xff\xff"), with(packet6, 8, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	for bits := 1; bits <= 128; bits++ {
		cfg := Config{Kind: Src, Mask4: min(bits, 32), Mask6: bits}
		keys := NewKeyer([]Config{cfg}, headers.DecoderConfig{}).FromHeaders(b, 0, decode(headers.NewDecoder(headers.DecoderConfig{}), b))[0]
		want6, _ := netip.AddrFrom16([16]byte(b.Data(1)[8:24])).Prefix(cfg.Mask6)
		if got := netip.AddrFrom16([16]byte(keys.V6[0][:16])); got != want6.Addr() {
			t.Errorf("/%d: got %v, want %v", bits, got, want6)
		}
		want4, _ := netip.AddrFrom4([4]byte(b.Data(0)[12:16])).Prefix(cfg.Mask4)
		if got := string((Config{}).AppendAddr4(nil, keys.Addr4[0])); got != want4.Addr().String() {
			t.Errorf("/%d: got %v, want %v", cfg.Mask4, got, want4)
		}
	}
}

func TestValidateKeyConfig(t *testing.T) {
	for _, bad := range []Config{{Kind: 7}, {Mask4: 33}, {Mask4: -1}, {Mask6: 129}, {Mask6: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestParseOf(t *testing.T) {
	for o := Src; o <= MACs; o++ {
		if got, err := ParseKind(o.String()); got != o || err != nil {
			t.Errorf("%v: got %v, %v", o, got, err)
		}
	}
	if _, err := ParseKind("port"); err == nil {
		t.Error("port was accepted")
	}
}

func TestProtocol(t *testing.T) {
	for want, h := range map[string]headers.Header{
		"tcp": {Version: 4, Proto: 6}, "icmpv6": {Version: 6, Proto: 58}, "ip-253": {Version: 4, Proto: 253},
		"hopopt": {Version: 4}, "non_ip": {},
	} {
		if got := h.Protocol().String(); got != want {
			t.Errorf("%+v: got %q, want %q", h, got, want)
		}
	}
}

// TestDetermines compares Determines with the keys of packets: whether packets with equal
// keys of one kind have equal keys of the other.
func TestDetermines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	var frames [][]byte
	for range 4000 {
		payload := udp(rng.IntN(2), rng.IntN(2), nil)
		packet := ip4(0, 17, payload)
		copy(packet[12:], []byte{10, 0, 0, byte(rng.IntN(4)), 10, 0, 0, byte(rng.IntN(4))})
		frame := ether(0x0800, packet)
		if rng.IntN(2) == 0 {
			frame = join(frame[:12], be16(0x8100), be16(rng.IntN(2)), frame[12:])
		}
		frames = append(frames, frame)
	}
	b := newBatch(capture.LinkEthernet, frames...)
	var cfgs []Config
	for of := Src; of <= Biflow; of++ {
		for _, mask := range []int{0, 31, 32} {
			cfgs = append(cfgs, Config{Kind: of, Mask4: mask}, Config{Kind: of, Mask4: mask, VLAN: true})
		}
	}
	keys := make([][]string, len(cfgs))
	for i, cfg := range cfgs {
		keys[i] = keysOf(b, cfg, len(frames))
	}
	for i, cfg := range cfgs {
		for j, other := range cfgs {
			want := true
			first := map[string]string{}
			for n, key := range keys[i] {
				known, ok := first[key]
				if !ok {
					first[key] = keys[j][n]
				} else if known != keys[j][n] {
					want = false
				}
			}
			if got := cfg.Determines(other); got != want {
				t.Errorf("%+v, %+v: %v, want %v", cfg, other, got, want)
			}
		}
	}
}

// keysOf returns the elements of each packet, in no order.
func keysOf(b *capture.Batch, cfg Config, packets int) []string {
	elements := make([][]string, packets)
	made := NewKeyer([]Config{cfg}, headers.DecoderConfig{}).FromFrames(b, 0, packets)[0]
	for i, frame := range made.V4Frame {
		text := ""
		if made.Addr4 != nil {
			text = fmt.Sprintf("%x", made.Addr4[i])
		} else {
			text = fmt.Sprintf("%x", made.V4[i])
		}
		elements[frame] = append(elements[frame], text)
	}
	texts := make([]string, packets)
	for i := range elements {
		slices.Sort(elements[i])
		texts[i] = strings.Join(elements[i], " ")
	}
	return texts
}
