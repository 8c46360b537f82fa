// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/frametest"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// flows makes UDP packets of many connections, each with its number.
func flows(n int) [][]byte {
	var frames [][]byte
	for i := range n {
		f := numbered(i, 64)
		binary.BigEndian.PutUint16(f[12:], 0x0800)
		ip := f[14:]
		copy(ip, "\x45\x00\x00\x32\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02")
		var checksum uint32
		for j := 0; j < 20; j += 2 {
			checksum += uint32(binary.BigEndian.Uint16(ip[j:]))
		}
		checksum = checksum>>16 + checksum&0xFFFF
		binary.BigEndian.PutUint16(ip[10:], ^uint16(checksum))
		binary.BigEndian.PutUint16(ip[20:], uint16(1024+i%5000))
		binary.BigEndian.PutUint16(ip[22:], 53)
		binary.BigEndian.PutUint32(ip[28:], uint32(i))
		frames = append(frames, f)
	}
	return frames
}

func TestFanout(t *testing.T) { bothPlaces(t, testFanout) }

func testFanout(t *testing.T, inPlace bool) {
	for _, mode := range []Fanout{FanoutHash, FanoutCPU, FanoutQueue} {
		enterLab(t)
		src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}, Rings: 3, Fanout: mode})
		sent := flows(20000)
		send(t, openSender(t, "left"), sent...)
		got := rest(t, src)
		capturetest.CompareFrames(t, sorted(t, got.Data, len(sent)), sent)
		stats := src.Stats()
		if len(stats) != 3 {
			t.Fatalf("%+v", stats)
		}
		for _, s := range stats {
			if s.Received != s.Delivered || mode == FanoutHash && s.Received == 0 {
				t.Errorf("%+v", s)
			}
		}
	}
}

// sorted returns flows in the order of their numbers, each of which may come once.
func sorted(t *testing.T, frames [][]byte, n int) [][]byte {
	t.Helper()
	order := make([][]byte, n)
	for _, f := range frames {
		number := binary.BigEndian.Uint32(f[42:])
		if order[number] != nil {
			t.Fatalf("frame %d came twice", number)
		}
		order[number] = f
	}
	return order
}

// TestFanoutStartsApart opens rings while packets come. Before all rings exist, none may
// take packets of other interfaces.
func TestFanoutStartsApart(t *testing.T) {
	enterLab(t)
	stop := traffic(t, "left", 0, flows(1000)...)
	for range 5 {
		src := open(t, Config{Interfaces: []string{"right"}, Rings: 4})
		got := take(t, src, 3000)
		// Sending every number once takes longer than a tenth of a millisecond.
		last := map[uint32]int64{}
		for i, f := range got.Data {
			number, time := binary.BigEndian.Uint32(f[42:]), got.Frames[i].Time
			if gap := time - last[number]; gap > -1e5 && gap < 1e5 {
				t.Fatalf("packet %d was seen twice in %d ns", number, gap)
			}
			last[number] = time
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
}

// traffic sends the frames over and over with a pause, until it is stopped or the test
// ends.
func traffic(t *testing.T, name string, pause time.Duration, frames ...[]byte) (stop func()) {
	s := openSender(t, name)
	b := frametest.NewBatch(capture.LinkEthernet, frames...)
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			case <-time.After(pause):
				if err := s.Send(b, nil); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// filters returns the Filters of a capture whose interfaces have the same link type.
func filters(link capture.LinkType, program ...bpf.RawInstruction) map[capture.LinkType][]bpf.RawInstruction {
	return map[capture.LinkType][]bpf.RawInstruction{link: program}
}

// typeFilter returns a program that accepts a single ethertype.
func typeFilter(kind uint32) map[capture.LinkType][]bpf.RawInstruction {
	return filters(capture.LinkEthernet,
		bpf.RawInstruction{Op: 0x28, K: 12}, bpf.RawInstruction{Op: 0x15, Jf: 1, K: kind},
		bpf.RawInstruction{Op: 0x06, K: 262144}, bpf.RawInstruction{Op: 0x06, K: 0})
}

// TestFilterFromTheFirst opens a capture while two interfaces have traffic that the
// filter rejects. None of these packets may come in.
func TestFilterFromTheFirst(t *testing.T) {
	enterLab(t)
	labtest.Pair(t, "other", "otherpeer")
	wanted := numbered(1, 60)
	wanted[13]++
	traffic(t, "left", 0, numbered(0, 60), wanted)
	traffic(t, "other", 0, wanted[:59])
	for range 20 {
		src := open(t, Config{Interfaces: []string{"right"}, Filters: typeFilter(testType + 1)})
		for i, f := range take(t, src, 1000).Data {
			if !bytes.Equal(f, wanted) {
				t.Fatalf("frame %d is %x", i, f)
			}
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilterCooked(t *testing.T) {
	enterLab(t)
	// tcpdump -y LINUX_SLL2 -ddd 'ether proto 0x88b5 and inbound'
	filter := []bpf.RawInstruction{
		{Op: 0x28, K: 0}, {Op: 0x15, Jf: 3, K: testType},
		{Op: 0x30, K: 10}, {Op: 0x15, Jt: 1, K: typeOutgoing},
		{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
	}
	src := open(t, Config{Interfaces: []string{Any}, Filters: filters(capture.LinkLinuxSLL2, filter...)})
	other := numbered(1, 60)
	other[13]++
	send(t, openSender(t, "left"), numbered(0, 60), other, numbered(2, 60))
	got := rest(t, src)
	if len(got.Data) != 2 || !bytes.Equal(got.Data[1][20:], numbered(2, 60)[14:]) {
		t.Errorf("%x", got.Data)
	}
}

// tagged inserts VLAN tags, each a type and control information, into a frame.
func tagged(frame []byte, tags ...[2]uint16) []byte {
	f := append([]byte{}, frame[:12]...)
	for _, tag := range tags {
		f = binary.BigEndian.AppendUint16(f, tag[0])
		f = binary.BigEndian.AppendUint16(f, tag[1])
	}
	return append(f, frame[12:]...)
}

func taggedFrames() [][]byte {
	var frames [][]byte
	for i, tags := range [][][2]uint16{
		{{0x8100, 100}},
		{{0x8100, 0}},      // a priority tag
		{{0x8100, 0xE000}}, // with a priority
		{{0x8100, 0xFFFF}},
		{{0x88A8, 200}},
		{{0x88A8, 0}},
		{{0x88A8, 200}, {0x8100, 100}},
		{{0x8100, 1}, {0x8100, 2}, {0x8100, 3}},
		{{0x9100, 5}}, // the kernel does not take off tags of this type
		{},
	} {
		frames = append(frames, tagged(numbered(i, 60+i), tags...))
	}
	return frames
}

func TestTagsPutBack(t *testing.T) { bothPlaces(t, testTagsPutBack) }

func testTagsPutBack(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}})
	sent := taggedFrames()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	capturetest.CompareFrames(t, got.Data, sent)
	for i, f := range got.Frames {
		if int(f.WireLen) != len(sent[i]) {
			t.Errorf("frame %d has wire length %d, want %d", i, f.WireLen, len(sent[i]))
		}
	}
	if s := sum(src); s.Tagged != 8 {
		t.Errorf("%d tags put back, want 8", s.Tagged)
	}
}

// TestTagsAny finds tags, and the interfaces, in cooked headers. Frames leave left with their
// tags in them, and arrive at right with the first tag outside of them.
func TestTagsAny(t *testing.T) { bothPlaces(t, testTagsAny) }

func testTagsAny(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{Any}})
	sent := taggedFrames()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	for _, name := range []string{"left", "right"} {
		iface, err := net.InterfaceByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var bodies [][]byte
		for _, f := range got.Data {
			if binary.BigEndian.Uint32(f[4:]) == uint32(iface.Index) {
				// Protocol and body are the bytes behind the addresses.
				bodies = append(bodies, append(append([]byte{}, sent[0][:6]...), append(f[12:18:18], append(f[:2:2], f[20:]...)...)...))
			}
		}
		capturetest.CompareFrames(t, bodies, sent)
	}
	if !inPlace {
		checkFile(t, got, Any, capture.LinkLinuxSLL2)
	}
}

// portFilters returns programs that accept UDP packets to port 53, over IPv4 headers
// without options, on Ethernet and without a link header.
func portFilters() map[capture.LinkType][]bpf.RawInstruction {
	all := map[capture.LinkType][]bpf.RawInstruction{}
	for link, header := range map[capture.LinkType]uint32{capture.LinkEthernet: etherLen, capture.LinkRaw: 0} {
		all[link] = []bpf.RawInstruction{
			{Op: 0x30, K: header}, {Op: 0x15, Jf: 5, K: 0x45},
			{Op: 0x30, K: header + 9}, {Op: 0x15, Jf: 3, K: unix.IPPROTO_UDP},
			{Op: 0x28, K: header + 22}, {Op: 0x15, Jf: 1, K: 53},
			{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
		}
	}
	return all
}

// TestFilterOfEachLink captures from interfaces of two link types, each with its own
// program.
func TestFilterOfEachLink(t *testing.T) {
	enterLab(t)
	tun := openTun(t, "tun0")
	src := open(t, Config{Interfaces: []string{"right", "tun0"}, Filters: portFilters()})
	wanted, other := flows(1)[0], flows(1)[0]
	other[etherLen+23]++ // the last byte of the port
	send(t, openSender(t, "left"), other, wanted)
	for _, f := range [][]byte{other, wanted} {
		if _, err := tun.Write(f[etherLen:]); err != nil {
			t.Fatal(err)
		}
	}
	got := rest(t, src)
	var frames [2][][]byte
	for i, f := range got.Frames {
		frames[f.Interface] = append(frames[f.Interface], got.Data[i])
	}
	capturetest.CompareFrames(t, frames[0], [][]byte{wanted})
	capturetest.CompareFrames(t, frames[1], [][]byte{wanted[etherLen:]})
}

// TestLinkChanges checks that a capture ends when its interface, or a new interface of that name,
// has a new link type, and delivers no packet of that type.
func TestLinkChanges(t *testing.T) {
	packet := flows(1)[0]
	for what, change := range map[string]func(tun *os.File){
		"the same": func(tun *os.File) {
			labtest.IP(t, "link set tun0 down")
			if err := unix.IoctlSetInt(int(tun.Fd()), unix.TUNSETLINK, unix.ARPHRD_IEEE80211_RADIOTAP); err != nil {
				t.Fatal(err)
			}
			labtest.IP(t, "link set tun0 up")
			if _, err := tun.Write(packet[etherLen:]); err != nil {
				t.Fatal(err)
			}
		},
		"another": func(tun *os.File) {
			if err := tun.Close(); err != nil {
				t.Fatal(err)
			}
			labtest.Pair(t, "left", "tun0")
			send(t, openSender(t, "left"), packet)
		},
	} {
		labtest.Enter(t)
		tun := openTun(t, "tun0")
		src := open(t, Config{Interfaces: []string{"tun0"}, Wait: true})
		if _, err := tun.Write(packet[etherLen:]); err != nil {
			t.Fatal(err)
		}
		capturetest.CompareFrames(t, take(t, src, 1).Data, [][]byte{packet[etherLen:]})
		change(tun)
		lab.Settle()
		got := take(t, src, -1)
		if !errors.Is(got.Err, ErrLinkChanged) || len(got.Data) != 0 {
			t.Errorf("%s: %v after %d frames", what, got.Err, len(got.Data))
		}
	}
}

// TestSentFrames checks what the socket filter rejects. Kernels from 6.2 on would leave out the sent frames of
// a group of rings by themselves, so that a capture there shows no mistake.
func TestSentFrames(t *testing.T) {
	for _, tt := range []struct {
		index    int
		loopback bool
		conf     Config
		want     []bpf.RawInstruction
	}{
		{index: 2, conf: Config{Rings: 2}},
		{index: 2, conf: Config{Rings: 1, IgnoreOutgoing: true}},
		{index: 2, conf: Config{Rings: 2, IgnoreOutgoing: true}, want: noneSent},
		{index: 1, loopback: true, conf: Config{Rings: 1}},
		{index: 1, loopback: true, conf: Config{Rings: 2}, want: noneSent},
		{conf: Config{Rings: 2}, want: onceOnLoopback},
		{conf: Config{Rings: 1, IgnoreOutgoing: true}, want: onceOnLoopback},
		{conf: Config{Rings: 2, IgnoreOutgoing: true}, want: noneSent},
	} {
		d := sockets.Device{Index: tt.index, Loopback: tt.loopback}
		if got := sentFrames(&d, &tt.conf); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v, want %v", tt, got, tt.want)
		}
	}
}
