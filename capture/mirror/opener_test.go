// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

func target(t testing.TB, name string) Target {
	t.Helper()
	to, err := ParseTarget(name)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// opening returns what takes the packets out of the datagrams of a target.
func opening(t testing.TB, name string, snapLen int) (*opener, *capture.Batch) {
	to := target(t, name)
	o := &opener{target: &to, table: newTable([]Target{to}, snapLen)}
	return o, &capture.Batch{Sections: []capture.Section{{Format: capture.FormatPcapNG}}}
}

// frame is an Ethernet frame with an IPv4 datagram of n bytes more, of which it has all but
// missing ones.
func frame(n, missing int) []byte {
	f := append([]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00\x00\x00\x00\x01\x00\x00\x40\xfd\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02"), bytes.Repeat([]byte("x"), n)...)
	binary.BigEndian.PutUint16(f[16:], uint16(20+n))
	return f[:len(f)-missing]
}

const (
	vxlanHead   = "\x08\x00\x00\x00\x00\x00\x2a\x00"
	geneveHead  = "\x00\x00\x65\x58\x00\x00\x2a\x00"
	geneveLong  = "\x02\x00\x65\x58\x00\x00\x2a\x00\x01\x02\x03\x01OPTS"
	geneveIP    = "\x00\x00\x08\x00\x00\x00\x2a\x00"
	tzspHead    = "\x01\x00\x00\x01\x01"
	tzspTagged  = "\x01\x00\x00\x01\x00\x0a\x01\xc4\x29\x02\x05\xdc\x01"
	tzspWLAN    = "\x01\x00\x00\x12\x01"
	erspanOne   = "\x00\x00\x88\xbe"
	erspanTwo   = "\x10\x00\x88\xbe\x00\x00\x00\x01\x10\x00\x00\x2a\x00\x00\x00\x05"
	erspanThree = "\x10\x00\x22\xeb\x00\x00\x00\x01\x20\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x00\x00"
	// With the platform-specific subheader of eight bytes.
	erspanPlatform = "\x10\x00\x22\xeb\x00\x00\x00\x01\x20\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x00\x01\x0c\x00\x00\x00\x00\x00\x00\x00"
	erspanIP       = "\x10\x00\x22\xeb\x00\x00\x00\x01\x20\x00\x00\x2a\x00\x00\x00\x00\x00\x00\x08\x00"
	greEthernet    = "\x20\x00\x65\x58\x00\x00\x00\x2a"
)

// opens are headers, and what they lead to.
var opens = []struct {
	name, target, head string
	iface              string // "" if the header leads nowhere
	link               capture.LinkType
}{
	{"vxlan", "vxlan://:4789", vxlanHead, "vxlan:42", capture.LinkEthernet},
	{"vxlan with policy bits", "vxlan://:4789", "\x88\x08\x12\x34\x00\x00\x2a\xff", "vxlan:42", capture.LinkEthernet},
	{"vxlan without its bit", "vxlan://:4789", "\x00\x00\x00\x00\x00\x00\x2a\x00", "vxlan:42", capture.LinkEthernet},
	{"geneve", "geneve://:6081", geneveHead, "geneve:42", capture.LinkEthernet},
	{"geneve with options", "geneve://:6081", geneveLong, "geneve:42", capture.LinkEthernet},
	{"geneve with IP", "geneve://:6081", geneveIP, "geneve:42", capture.LinkRaw},
	{"geneve of control", "geneve://:6081", "\x00\x80\x65\x58\x00\x00\x2a\x00", "", 0},
	{"geneve of version 1", "geneve://:6081", "\x40\x00\x65\x58\x00\x00\x2a\x00", "", 0},
	{"geneve with too many options", "geneve://:6081", "\x3f\x00\x65\x58\x00\x00\x2a\x00", "", 0},
	{"geneve with ARP", "geneve://:6081", "\x00\x00\x08\x06\x00\x00\x2a\x00", "", 0},
	{"tzsp", "tzsp://:37008", tzspHead, "tzsp:192.0.2.1", capture.LinkEthernet},
	{"tzsp with tags", "tzsp://:37008", tzspTagged, "tzsp:192.0.2.1", capture.LinkEthernet},
	{"tzsp of a radio", "tzsp://:37008", tzspWLAN, "tzsp:192.0.2.1", capture.LinkIEEE80211},
	{"tzsp keepalive", "tzsp://:37008", "\x01\x04\x00\x00\x01", "", 0},
	{"tzsp without an end", "tzsp://:37008", "\x01\x00\x00\x01\x00\x00\x0a\xff", "", 0},
	{"tzsp of an unknown protocol", "tzsp://:37008", "\x01\x00\x00\x63\x01", "", 0},
	{"tzsp of version 2", "tzsp://:37008", "\x02\x00\x00\x01\x01", "", 0},
	{"erspan I", "erspan://", erspanOne, "erspan", capture.LinkEthernet},
	{"erspan II", "erspan://", erspanTwo, "erspan:42", capture.LinkEthernet},
	{"erspan III", "erspan://", erspanThree, "erspan:42", capture.LinkEthernet},
	{"erspan III with a subheader", "erspan://", erspanPlatform, "erspan:42", capture.LinkEthernet},
	{"erspan III with IP", "erspan://", erspanIP, "erspan:42", capture.LinkRaw},
	{"gre with Ethernet", "erspan://", greEthernet, "gre:42", capture.LinkEthernet},
	{"gre without a key", "erspan://", "\x00\x00\x65\x58", "gre", capture.LinkEthernet},
	{"gre of version 7", "erspan://", "\x00\x07\x65\x58", "", 0},
}

// inside returns a frame of a link type.
func inside(link capture.LinkType) []byte {
	switch link {
	case capture.LinkRaw:
		return frame(30, 0)[14:]
	case capture.LinkIEEE80211:
		return []byte("\x80\x00\x00\x00\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x01\x00\x00")
	}
	return frame(30, 0)
}

// TestOpen takes packets out of every encapsulation. What has none is counted.
func TestOpen(t *testing.T) {
	from := netip.MustParseAddrPort("192.0.2.1:37008")
	for _, c := range opens {
		t.Run(c.name, func(t *testing.T) {
			o, b := opening(t, c.target, 1000)
			want := inside(c.link)
			o.open(b, append([]byte(c.head), want...), from, 7)
			n := &o.counts
			refused := n.malformed[badHeader].Load() + n.malformed[badContent].Load() + n.control.Load()
			if c.iface == "" {
				if len(b.Frames) != 0 || refused != 1 {
					t.Fatalf("%d packets, %d refused", len(b.Frames), refused)
				}
				return
			}
			if len(b.Frames) != 1 || refused != 0 || !bytes.Equal(b.Data(0), want) {
				t.Fatalf("%d packets, %d refused: %x", len(b.Frames), refused, b.Buf)
			}
			if it := &b.Interfaces[0]; it.Name != c.iface || it.LinkType != c.link || b.Frames[0].Time != 7 {
				t.Errorf("%+v", it)
			}
			for end := range len(c.head) + 1 {
				o.open(b, []byte(c.head[:end]), from, 7)
			}
			if len(b.Frames) != 1 {
				t.Error("a part of the header leads to a packet")
			}
		})
	}
}

// TestEveryContent delivers whatever comes to a port that the user has named: there is no doubt that it
// is a packet.
func TestEveryContent(t *testing.T) {
	with := func(at int, to string) []byte {
		f := frame(30, 0)
		copy(f[at:], to)
		return f
	}
	contents := map[string][]byte{
		"wrong checksum": with(24, "\x12\x34"), "no checksum": with(24, "\x00\x00"), "cut in IP": frame(30, 0)[:24],
		"sliced": frame(300, 290), "padded": append(frame(10, 0), "padding"...), "type and no more": frame(30, 0)[:14],
		"LLDP": with(12, "\x88\xcc"), "GOOSE": with(12, "\x88\xb8"), "unknown type": with(12, "\x88\xb5"), "length": with(12, "\x00\x1e\x42\x42\x03"),
		"cut in the frame": frame(30, 0)[:9],
	}
	for _, to := range []struct{ target, head string }{
		{"vxlan://:4789", vxlanHead}, {"vxlan://:4789", "\x00\x00\x00\x00\x00\x00\x2a\x00"}, {"vxlan://:4789", "\xff\xff\xff\xff\x00\x00\x2a\xff"},
		{"geneve://:6081", geneveLong}, {"tzsp://:37008", tzspHead}, {"erspan://", erspanTwo}, {"erspan://", greEthernet},
	} {
		for name, content := range contents {
			o, b := opening(t, to.target, 1000)
			o.open(b, append([]byte(to.head), content...), netip.AddrPort{}, 0)
			if len(b.Frames) != 1 || !bytes.Equal(b.Data(0), content) || o.counts.malformed[badHeader].Load()+o.counts.malformed[badContent].Load() != 0 {
				t.Errorf("%s, %s: %d packets: %x", to.target, name, len(b.Frames), b.Buf)
			}
		}
	}
}

// TestWireLength recognizes packets that were truncated on their way, or here.
func TestWireLength(t *testing.T) {
	for _, c := range []struct {
		name, target, head string
		missing, snapLen   int
		captured, wire     uint32
	}{
		{"whole", "vxlan://:4789", vxlanHead, 0, 1000, 134, 134},
		{"cut by the mirror", "vxlan://:4789", vxlanHead, 60, 1000, 74, 134},
		{"cut here", "vxlan://:4789", vxlanHead, 0, 64, 64, 134},
		{"cut by both", "geneve://:6081", geneveIP, 60, 40, 40, 120},
		{"said by the sensor", "tzsp://:37008", tzspTagged, 0, 1000, 134, 1500},
	} {
		o, b := opening(t, c.target, c.snapLen)
		packet := frame(100, c.missing)
		if c.head == geneveIP {
			packet = packet[14:]
		}
		o.open(b, append([]byte(c.head), packet...), netip.AddrPort{}, 0)
		if len(b.Frames) != 1 || b.Frames[0].CapLen != c.captured || b.Frames[0].WireLen != c.wire {
			t.Errorf("%s: %+v", c.name, b.Frames)
		}
		if cut := o.counts.truncated.Load(); (cut == 1) != (c.captured < c.wire) {
			t.Errorf("%s: %d cut", c.name, cut)
		}
	}
}

// TestGopacket takes packets out of what package gopacket wrote.
func TestGopacket(t *testing.T) {
	want := frame(50, 0)
	for name, stack := range map[string][]gopacket.SerializableLayer{
		"vxlan:4711": {&layers.VXLAN{ValidIDFlag: true, VNI: 4711}},
		"erspan:99": {
			&layers.GRE{Protocol: layers.EthernetTypeERSPAN, SeqPresent: true, Seq: 5},
			&layers.ERSPANII{Version: 1, SessionID: 99, VLANIdentifier: 7, Index: 1},
		},
	} {
		buf := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{}, append(stack, gopacket.Payload(want))...); err != nil {
			t.Fatal(err)
		}
		scheme, _, _ := strings.Cut(name, ":")
		o, b := opening(t, scheme+"://", 1000)
		o.open(b, buf.Bytes(), netip.AddrPort{}, 0)
		if len(b.Frames) != 1 || !bytes.Equal(b.Data(0), want) || b.Interfaces[0].Name != name {
			t.Errorf("%s: %x, %+v", name, b.Buf, b.Interfaces)
		}
	}
}

// TestIdentifiers delivers only packets with listed identifiers, and gives each identifier a
// point.
func TestIdentifiers(t *testing.T) {
	o, b := opening(t, "vxlan://:4789?vni=3,1", 1000)
	for i := range byte(5) {
		o.open(b, append([]byte{8, 0, 0, 0, 0, 0, i, 0}, frame(10, 0)...), netip.AddrPort{}, 0)
	}
	if len(b.Interfaces) != 2 || b.Interfaces[0].Name != "vxlan:1" || b.Interfaces[1].Name != "vxlan:3" ||
		b.Interfaces[1].CapturePoint != 1 || o.counts.unwanted.Load() != 3 {
		t.Errorf("%+v, %d unwanted", b.Interfaces, o.counts.unwanted.Load())
	}
}

// TestManyPoints bounds the tables, and loses no packet.
func TestManyPoints(t *testing.T) {
	o, b := opening(t, "vxlan://:4789", 64)
	const all = maxPoints + 1000
	for i := range all {
		o.open(b, append([]byte{8, 0, 0, 0, 0, byte(i >> 8), byte(i), 0}, frame(10, 0)...), netip.AddrPort{}, 0)
	}
	if len(b.Frames) != all || len(b.Interfaces) != maxPoints+1 || b.Interfaces[maxPoints].Name != "vxlan (others)" {
		t.Errorf("%d packets of %d interfaces", len(b.Frames), len(b.Interfaces))
	}
	if n := o.table.count(0); n != maxPoints+1 {
		t.Errorf("%d points", n)
	}
}

// TestPointsOfTargets floods a target with made-up points: the other target keeps its share.
func TestPointsOfTargets(t *testing.T) {
	targets := []Target{target(t, "vxlan://:4789"), target(t, "geneve://:6081")}
	both := newTable(targets, 64)
	var b capture.Batch
	for i, to := range targets {
		o := &opener{target: &to, number: i, table: both}
		head := []byte{8, 0, 0, 0}
		if i == 1 {
			head = []byte{0, 0, 0x65, 0x58}
		}
		for n := range maxPoints {
			o.open(&b, append(append(head[:4:4], 0, byte(n>>8), byte(n), 0), frame(10, 0)...), netip.AddrPort{}, 0)
		}
		if got := both.count(i); got != maxPoints/2+1 {
			t.Errorf("%d points of target %d, want %d", got, i, maxPoints/2+1)
		}
	}
	if n := len(b.Frames); n != 2*maxPoints {
		t.Errorf("%d packets", n)
	}
}

// TestParseTarget parses targets, and rejects others with a reason.
func TestParseTarget(t *testing.T) {
	for name, want := range map[string]string{
		"vxlan://:4789":                  "[::]:4789",
		"vxlan://":                       "[::]:4789",
		"vxlan://10.0.0.1":               "10.0.0.1:4789",
		"geneve://[fd00::1]:7000?vni=7":  "[fd00::1]:7000",
		"tzsp://0.0.0.0":                 "0.0.0.0:37008",
		"erspan://192.0.2.1?session=1,9": "192.0.2.1:0",
		"erspan://":                      "[::]:0",
	} {
		if got := target(t, name); got.host.String() != want || got.String() != name || !IsTarget(name) {
			t.Errorf("%s: %v", name, got.host)
		}
	}
	for name, want := range map[string]string{
		"vxlan://:0":              "port must be",
		"vxlan://:70000":          "port",
		"vxlan://host:4789":       "its host must be an IP address",
		"vxlan://:4789/x":         "write it as",
		"vxlan://:4789?vni=":      "vni \"\"",
		"vxlan://:4789?vni=1,x":   "vni \"x\": it must be a number below 16777216",
		"vxlan://:4789?session=1": "it takes no \"session\"",
		"erspan://:47":            "ERSPAN has none",
		"erspan://?session=1024":  "below 1024",
		"tzsp://?vni=1":           "it takes no \"vni\"",
		"gre://":                  "not a target",
		"vxlan://:4789?%zz":       "write it as",
	} {
		if _, err := ParseTarget(name); !errors.Is(err, ErrTarget) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// fuzz checks that a datagram of a target leads to no panic and to no packet that is not a
// part of it, and twice to the same.
func fuzz(f *testing.F, name string) {
	for _, c := range opens {
		if strings.HasPrefix(c.target, name) {
			f.Add(append([]byte(c.head), inside(c.link)...))
		}
	}
	from := netip.MustParseAddrPort("192.0.2.1:37008")
	f.Fuzz(func(t *testing.T, datagram []byte) {
		o, b := opening(t, name+"://", 1<<16)
		o.open(b, datagram, from, 1)
		o.open(b, datagram, from, 1)
		n := &o.counts
		refused := n.malformed[badHeader].Load() + n.malformed[badContent].Load() + n.control.Load()
		if uint64(len(b.Frames))+refused != 2 || len(b.Frames) == 1 {
			t.Fatalf("%d packets, %d refused", len(b.Frames), refused)
		}
		if len(b.Frames) == 0 {
			return
		}
		data := b.Data(0)
		if len(data) == 0 || !bytes.HasSuffix(datagram, data) || !bytes.Equal(data, b.Data(1)) || b.Frames[0].WireLen < uint32(len(data)) ||
			b.Interfaces[b.Frames[0].Interface].LinkType == 0 {
			t.Fatalf("%x leads to %+v, %x", datagram, b.Frames[0], data)
		}
		agrees(t, o, datagram, len(datagram)-len(data))
	})
}

// agrees compares with where the decoder of whole packets finds the frame.
func agrees(t *testing.T, o *opener, datagram []byte, at int) {
	if o.target.kind.layer == 0 || len(datagram) > 60000 {
		return
	}
	head, proto := 20, byte(47)
	outer := make([]byte, 28)
	if o.target.kind.port != 0 {
		head, proto = 28, 17
		binary.BigEndian.PutUint16(outer[22:], o.target.kind.port)
		binary.BigEndian.PutUint16(outer[24:], uint16(8+len(datagram)))
	}
	packet := append(outer[:head:head], datagram...)
	packet[0], packet[8], packet[9] = 0x45, 9, proto
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw})
	b.Append(capture.Frame{}, packet)
	found := headers.NewDecoder(headers.DecoderConfig{Inner: true}).Layers(nil, &b, 0)
	for i, l := range found {
		if i < 2 || !found[1].Kind.Tunnel() || l.Kind != headers.LayerEthernet && l.Kind != headers.LayerIP {
			continue
		}
		if i == 2 && int(l.Start) != head+at {
			t.Fatalf("%x: the frame begins at %d, and the decoder says %d", datagram, at, int(l.Start)-head)
		}
	}
}

func FuzzVXLAN(f *testing.F)  { fuzz(f, "vxlan") }
func FuzzGENEVE(f *testing.F) { fuzz(f, "geneve") }
func FuzzTZSP(f *testing.F)   { fuzz(f, "tzsp") }
func FuzzERSPAN(f *testing.F) { fuzz(f, "erspan") }

// TestConfigErrors refuses configurations that no capture can have.
func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{
		{},
		{Targets: make([]Target, 1), Sockets: -1},
		{Targets: make([]Target, 1), Sockets: maxSockets + 1},
		{Targets: make([]Target, 1), SnapLen: -1},
		{Targets: make([]Target, 1), BufferBytes: -1},
	} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is possible", c)
		}
	}
	good := Config{Targets: make([]Target, 1), Sockets: maxSockets, BufferBytes: 1}
	if _, err := good.withDefaults(); err != nil {
		t.Error(err)
	}
}
