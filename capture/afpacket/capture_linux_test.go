// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

func TestCapturedIsSent(t *testing.T) { bothPlaces(t, testCapturedIsSent) }

func testCapturedIsSent(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}, Promiscuous: true, RingBytes: 64 << 20})
	var sent [][]byte
	for i := range 20000 {
		sent = append(sent, numbered(i, 60+i*7%1455))
	}
	before := time.Now()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	capturetest.CompareFrames(t, got.Data, sent)
	last := before.UnixNano()
	for i, f := range got.Frames {
		if f.Time < last || f.Time > time.Now().UnixNano() {
			t.Fatalf("frame %d has time %d, not between %d and now", i, f.Time, last)
		}
		if f.WireLen != f.CapLen {
			t.Fatalf("frame %d: %+v", i, f)
		}
		last = f.Time
	}
	if s := sum(src); s != (Stats{Received: 20000, Delivered: 20000}) {
		t.Errorf("%+v", s)
	}
	if !inPlace {
		checkFile(t, got, "right", capture.LinkEthernet)
	}
}

// TestStartPaused lets packets in from Start on.
func TestStartPaused(t *testing.T) {
	for name, conf := range map[string]Config{"bound": {}, "filter": {SnapLen: 100}, "rings": {Rings: 2}} {
		t.Run(name, func(t *testing.T) {
			enterLab(t)
			conf.Interfaces, conf.StartPaused = []string{"right"}, true
			src := open(t, conf)
			sender := openSender(t, "left")
			send(t, sender, numbered(1, 60), numbered(2, 60))
			lab.Settle()
			if err := src.Start(); err != nil {
				t.Fatal(err)
			}
			send(t, sender, numbered(3, 60))
			capturetest.CompareFrames(t, rest(t, src).Data, [][]byte{numbered(3, 60)})
		})
	}
}

// checkFile reads back the file of a capture of an interface.
func checkFile(t *testing.T, got *labtest.Taken, name string, link capture.LinkType) {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(got.File.Bytes()), "file", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var statistics int
	for b := (capture.Batch{}); ; {
		if err := src.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			if b.Frames[i].Time != got.Frames[n].Time || !bytes.Equal(b.Data(i), got.Data[n]) {
				t.Fatalf("frame %d differs in the file", n)
			}
			n++
		}
		for _, k := range b.Blocks {
			if k.Type == capture.BlockStatistics {
				statistics++
			}
		}
		if f := b.Interfaces; len(f) > 0 && (f[0].Name != name || f[0].LinkType != link || f[0].TicksPerSecond != 1e9) {
			t.Fatalf("interface %+v", f[0])
		}
	}
	if n != len(got.Data) || statistics != 1 {
		t.Errorf("%d frames in the file, of %d, and %d statistics", n, len(got.Data), statistics)
	}
}

func TestSnapLen(t *testing.T) {
	enterLab(t)
	for _, conf := range []Config{{SnapLen: 96}, {SnapLen: 96, Filters: typeFilter(testType)}} {
		conf.Interfaces = []string{"right"}
		src := open(t, conf)
		send(t, openSender(t, "left"), numbered(0, 95), numbered(1, 96), numbered(2, 97), numbered(3, 1514))
		got := rest(t, src)
		capturetest.CompareFrames(t, got.Data, [][]byte{numbered(0, 95), numbered(1, 96), numbered(2, 97)[:96], numbered(3, 1514)[:96]})
		if got.Frames[3].WireLen != 1514 || sum(src).Truncated != 2 {
			t.Errorf("%+v, %+v", got.Frames[3], sum(src))
		}
	}
}

// TestTun captures from an interface without a link header, by its name and as part of
// Any. The two ways share only the protocol number.
func TestTun(t *testing.T) {
	enterLab(t)
	tun := openTun(t, "tun0")
	packet := flows(1)[0][14:]
	named, all := open(t, Config{Interfaces: []string{"tun0"}}), open(t, Config{Interfaces: []string{Any}})
	if _, err := tun.Write(packet); err != nil {
		t.Fatal(err)
	}
	got := rest(t, named)
	capturetest.CompareFrames(t, got.Data, [][]byte{packet})
	checkFile(t, got, "tun0", capture.LinkRaw)
	cooked := rest(t, all).Data
	if len(cooked) != 1 || !bytes.Equal(cooked[0][20:], packet) || !bytes.Equal(cooked[0][:2], []byte{8, 0}) {
		t.Errorf("%x", cooked)
	}
	if _, err := OpenSender(SenderConfig{Interface: "tun0"}); !errors.Is(err, ErrLinkType) {
		t.Errorf("sender: %v", err)
	}
}

// openTun makes an interface without a link header.
func openTun(t *testing.T, name string) *os.File {
	t.Helper()
	tun, err := lab.Tun(name)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = tun.Close() }) // it may be closed already
	return tun
}

// TestPromiscuous asks the kernel for the mode of the interface.
func TestPromiscuous(t *testing.T) {
	enterLab(t)
	asked := func() bool {
		out, err := exec.Command("ip", "-d", "link", "show", "right").Output()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(out, []byte("promiscuity 1"))
	}
	for _, want := range []bool{false, true} {
		src := open(t, Config{Interfaces: []string{"right"}, Promiscuous: want})
		if asked() != want {
			t.Errorf("promiscuous is %v, want %v", asked(), want)
		}
		if err := src.Close(); err != nil || asked() {
			t.Errorf("promiscuous after Close: %v, %v", asked(), err)
		}
	}
}

// TestHardwareTime asks for timestamps of a clock that does not exist.
func TestHardwareTime(t *testing.T) {
	enterLab(t)
	src := open(t, Config{Interfaces: []string{"right"}, HardwareTime: true})
	before := time.Now()
	send(t, openSender(t, "left"), numbered(0, 60))
	got := rest(t, src)
	if len(got.Frames) != 1 || got.Frames[0].Time < before.UnixNano() || got.Frames[0].Time > time.Now().UnixNano() || src.Stats()[0].Hardware != 0 {
		t.Errorf("%+v, %+v", got.Frames, src.Stats())
	}
}

func TestLoopbackOnce(t *testing.T) {
	for _, name := range []string{"lo", Any} {
		enterLab(t)
		labtest.IP(t, "link set lo up")
		src := open(t, Config{Interfaces: []string{name}, Rings: 2})
		talkUDP(t, 1000)
		got := rest(t, src)
		if len(got.Data) != 1000 {
			t.Errorf("%s: %d packets of 1000", name, len(got.Data))
		}
	}
}

// talkUDP sends datagrams over the loopback interface.
func talkUDP(t *testing.T, n int) {
	t.Helper()
	to, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	from, err := net.DialUDP("udp4", nil, to.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	for range n {
		if _, err := from.Write([]byte("datagram")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIgnoreOutgoing(t *testing.T) {
	for _, rings := range []int{1, 2} {
		for _, ignore := range []bool{false, true} {
			enterLab(t)
			src := open(t, Config{Interfaces: []string{"right"}, Rings: rings, IgnoreOutgoing: ignore})
			send(t, openSender(t, "right"), numbered(0, 60))
			send(t, openSender(t, "left"), numbered(1, 60))
			want := [][]byte{numbered(0, 60), numbered(1, 60)}
			if ignore {
				want = want[1:]
			}
			got := rest(t, src)
			if len(got.Data) != len(want) {
				t.Errorf("%d rings, ignore outgoing %v: %d frames", rings, ignore, len(got.Data))
			}
		}
	}
}

// TestSuperPackets captures TCP on the loopback interface, where segments stay merged and
// checksums stay empty.
func TestSuperPackets(t *testing.T) {
	enterLab(t)
	labtest.IP(t, "link set lo up")
	src := open(t, Config{Interfaces: []string{"lo"}, RingBytes: 1 << 20, BlockBytes: 32 << 10})
	talkTCP(t, 4<<20)
	got := rest(t, src)
	s := sum(src)
	if s.ChecksumOffloaded == 0 || s.Truncated == 0 || s.Received != s.Delivered+s.Dropped || uint64(len(got.Data)) != s.Delivered {
		t.Errorf("%d frames, %+v", len(got.Data), s)
	}
	largest := uint32(0)
	for _, f := range got.Frames {
		largest = max(largest, f.WireLen)
		if f.CapLen > f.WireLen || f.CapLen > 32<<10 {
			t.Fatalf("%+v", f)
		}
	}
	if largest < 32<<10 {
		t.Errorf("no frame above %d bytes", largest)
	}
}

func talkTCP(t *testing.T, n int) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	read := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		read <- err
	}()
	conn, err := net.DialTCP("tcp4", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Close(), <-read); err != nil {
		t.Fatal(err)
	}
}
