package ring

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

func TestCapturedIsSent(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}, Promiscuous: true, RingBytes: 64 << 20})
	var sent [][]byte
	for i := range 20000 {
		sent = append(sent, numbered(i, 60+i*7%1455))
	}
	before := time.Now()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	compare(t, got.frames, sent)
	last := before.UnixNano()
	for i, f := range got.all {
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
	checkFile(t, got, "right", capture.LinkEthernet)
}

// checkFile reads what was written of a capture of one interface.
func checkFile(t *testing.T, got *taken, name string, link capture.LinkType) {
	t.Helper()
	src, err := capture.NewReader(bytes.NewReader(got.file.Bytes()), "file", capture.Options{})
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
			if b.Frames[i].Time != got.all[n].Time || !bytes.Equal(b.Data(i), got.frames[n]) {
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
	if n != len(got.frames) || statistics != 1 {
		t.Errorf("%d frames in the file, of %d, and %d statistics", n, len(got.frames), statistics)
	}
}

// tagged puts VLAN tags, each a type and control information, into a frame.
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
		{{0x9100, 5}}, // no type that the kernel takes off
		{},
	} {
		frames = append(frames, tagged(numbered(i, 60+i), tags...))
	}
	return frames
}

func TestTagsPutBack(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}})
	sent := taggedFrames()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	compare(t, got.frames, sent)
	for i, f := range got.all {
		if int(f.WireLen) != len(sent[i]) {
			t.Errorf("frame %d has wire length %d, want %d", i, f.WireLen, len(sent[i]))
		}
	}
	if s := sum(src); s.Tagged != 8 {
		t.Errorf("%d tags put back, want 8", s.Tagged)
	}
}

// TestTagsAny finds tags in cooked headers, and the interfaces too: frames go out of
// left with their tags in them, and come in at right with the first one beside them.
func TestTagsAny(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{Any}})
	sent := taggedFrames()
	send(t, openSender(t, "left"), sent...)
	got := rest(t, src)
	for _, name := range []string{"left", "right"} {
		iface, err := net.InterfaceByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var bodies [][]byte
		for _, f := range got.frames {
			if binary.BigEndian.Uint32(f[4:]) == uint32(iface.Index) {
				// Protocol and body are what stands behind the addresses.
				bodies = append(bodies, append(append([]byte{}, sent[0][:6]...), append(f[12:18:18], append(f[:2:2], f[20:]...)...)...))
			}
		}
		compare(t, bodies, sent)
	}
	checkFile(t, got, Any, capture.LinkLinuxSLL2)
}

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

func TestFanout(t *testing.T) {
	for _, mode := range []Fanout{FanoutHash, FanoutCPU, FanoutQueue} {
		lab(t)
		src := open(t, Config{Interfaces: []string{"right"}, Rings: 3, Fanout: mode})
		sent := flows(20000)
		send(t, openSender(t, "left"), sent...)
		got := rest(t, src)
		compare(t, sorted(t, got.frames, len(sent)), sent)
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

// sorted puts flows in the order of their numbers, each of which may come once.
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

// TestFanoutStartsApart opens rings while packets come: until all are there, none
// may take what belongs to another.
func TestFanoutStartsApart(t *testing.T) {
	lab(t)
	stop := traffic(t, "left", flows(1000)...)
	for range 5 {
		src := open(t, Config{Interfaces: []string{"right"}, Rings: 4})
		got := take(t, src, 3000)
		// All numbers go round, which takes longer than a tenth of a millisecond.
		last := map[uint32]int64{}
		for i, f := range got.frames {
			number, time := binary.BigEndian.Uint32(f[42:]), got.all[i].Time
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

// traffic sends frames round and round until it is stopped.
func traffic(t *testing.T, name string, frames ...[]byte) (stop func()) {
	s := openSender(t, name)
	b := batchOf(frames...)
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			default:
				if err := s.Send(b, nil); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	return func() {
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// typeFilter lets one ethertype through.
func typeFilter(kind uint32) []bpf.RawInstruction {
	return []bpf.RawInstruction{
		{Op: 0x28, K: 12}, {Op: 0x15, Jf: 1, K: kind},
		{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
	}
}

// TestFilterFromTheFirst opens under traffic of two interfaces that must not get in.
func TestFilterFromTheFirst(t *testing.T) {
	lab(t)
	makePair(t, "other", "otherpeer")
	wanted := numbered(1, 60)
	wanted[13]++
	stopLeft := traffic(t, "left", numbered(0, 60), wanted)
	stopOther := traffic(t, "other", wanted[:59])
	defer stopOther()
	defer stopLeft()
	for range 20 {
		src := open(t, Config{Interfaces: []string{"right"}, Filter: typeFilter(testType + 1)})
		for i, f := range take(t, src, 1000).frames {
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
	lab(t)
	// What tcpdump -y LINUX_SLL2 -ddd makes of: ether proto 0x88b5 and inbound.
	filter := []bpf.RawInstruction{
		{Op: 0x28, K: 0}, {Op: 0x15, Jf: 3, K: testType},
		{Op: 0x30, K: 10}, {Op: 0x15, Jt: 1, K: typeOutgoing},
		{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
	}
	src := open(t, Config{Interfaces: []string{Any}, Filter: filter})
	other := numbered(1, 60)
	other[13]++
	send(t, openSender(t, "left"), numbered(0, 60), other, numbered(2, 60))
	got := rest(t, src)
	if len(got.frames) != 2 || !bytes.Equal(got.frames[1][20:], numbered(2, 60)[14:]) {
		t.Errorf("%x", got.frames)
	}
}

func TestSnapLen(t *testing.T) {
	lab(t)
	for _, conf := range []Config{{SnapLen: 96}, {SnapLen: 96, Filter: typeFilter(testType)}} {
		conf.Interfaces = []string{"right"}
		src := open(t, conf)
		send(t, openSender(t, "left"), numbered(0, 95), numbered(1, 96), numbered(2, 97), numbered(3, 1514))
		got := rest(t, src)
		compare(t, got.frames, [][]byte{numbered(0, 95), numbered(1, 96), numbered(2, 97)[:96], numbered(3, 1514)[:96]})
		if got.all[3].WireLen != 1514 || sum(src).Cut != 2 {
			t.Errorf("%+v, %+v", got.all[3], sum(src))
		}
	}
}

// TestTun captures an interface without a link header, by its name and as one of
// any, which share a protocol number and no more.
func TestTun(t *testing.T) {
	lab(t)
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer tun.Close()
	request, err := unix.NewIfreq("tun0")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(int(tun.Fd()), unix.TUNSETIFF, request); err != nil {
		t.Skip(err)
	}
	ip(t, "link set tun0 up")
	packet := flows(1)[0][14:]
	named, all := open(t, Config{Interfaces: []string{"tun0"}}), open(t, Config{Interfaces: []string{Any}})
	if _, err := tun.Write(packet); err != nil {
		t.Fatal(err)
	}
	got := rest(t, named)
	compare(t, got.frames, [][]byte{packet})
	checkFile(t, got, "tun0", capture.LinkRaw)
	cooked := rest(t, all).frames
	if len(cooked) != 1 || !bytes.Equal(cooked[0][20:], packet) || !bytes.Equal(cooked[0][:2], []byte{8, 0}) {
		t.Errorf("%x", cooked)
	}
	if _, err := OpenSender(SenderConfig{Interface: "tun0"}); !errors.Is(err, ErrLinkType) {
		t.Errorf("sender: %v", err)
	}
}

// TestPromiscuous asks the interface itself.
func TestPromiscuous(t *testing.T) {
	lab(t)
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

// TestHardwareTime asks for a clock that is not there.
func TestHardwareTime(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}, HardwareTime: true})
	before := time.Now()
	send(t, openSender(t, "left"), numbered(0, 60))
	got := rest(t, src)
	if len(got.all) != 1 || got.all[0].Time < before.UnixNano() || got.all[0].Time > time.Now().UnixNano() || src.Stats()[0].Hardware != 0 {
		t.Errorf("%+v, %+v", got.all, src.Stats())
	}
}

func TestLoopbackOnce(t *testing.T) {
	for _, name := range []string{"lo", Any} {
		lab(t)
		ip(t, "link set lo up")
		src := open(t, Config{Interfaces: []string{name}, Rings: 2})
		talkUDP(t, 1000)
		got := rest(t, src)
		if len(got.frames) != 1000 {
			t.Errorf("%s: %d packets of 1000", name, len(got.frames))
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
			lab(t)
			src := open(t, Config{Interfaces: []string{"right"}, Rings: rings, IgnoreOutgoing: ignore})
			send(t, openSender(t, "right"), numbered(0, 60))
			send(t, openSender(t, "left"), numbered(1, 60))
			want := [][]byte{numbered(0, 60), numbered(1, 60)}
			if ignore {
				want = want[1:]
			}
			got := rest(t, src)
			if len(got.frames) != len(want) {
				t.Errorf("%d rings, ignore outgoing %v: %d frames", rings, ignore, len(got.frames))
			}
		}
	}
}

// TestSuperPackets lets TCP talk over the loopback interface, where segments stay
// together and checksums empty.
func TestSuperPackets(t *testing.T) {
	lab(t)
	ip(t, "link set lo up")
	src := open(t, Config{Interfaces: []string{"lo"}, RingBytes: 1 << 20, BlockBytes: 32 << 10})
	talkTCP(t, 4<<20)
	got := rest(t, src)
	s := sum(src)
	if s.NoChecksum == 0 || s.Cut == 0 || s.Received != s.Delivered+s.Dropped || uint64(len(got.frames)) != s.Delivered {
		t.Errorf("%d frames, %+v", len(got.frames), s)
	}
	largest := uint32(0)
	for _, f := range got.all {
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

// TestDrained stops while the only packets lie in a block that is far from full and
// far from its timeout.
func TestDrained(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right", "left"}, BlockTimeout: 300 * time.Millisecond, IgnoreOutgoing: true})
	send(t, openSender(t, "left"), numbered(0, 60), numbered(1, 60))
	send(t, openSender(t, "right"), numbered(2, 60))
	src.Stop()
	send(t, openSender(t, "left"), numbered(3, 60)) // may come or not
	got := take(t, src, -1)
	if n := len(got.frames); got.err != nil || n < 3 || n > 4 {
		t.Fatalf("%d frames, %v", n, got.err)
	}
	interfaces := [2]int{}
	for _, f := range got.all {
		interfaces[f.Interface]++
	}
	if interfaces[0] < 2 || interfaces[1] != 1 {
		t.Errorf("%v frames of the interfaces", interfaces)
	}
}

// TestOverload fills a ring that nobody reads.
func TestOverload(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}, RingBytes: 1 << 17, BlockBytes: 1 << 16, BlockTimeout: 5 * time.Millisecond})
	var frames [][]byte
	for i := range 5000 {
		frames = append(frames, numbered(i, 100))
	}
	s := openSender(t, "left")
	var got [][]byte
	for round := range 3 {
		send(t, s, frames...)
		got = append(got, take(t, src, 1).frames...)
		if n := sum(src); n.Received != uint64(len(frames)*(round+1)) || n.Dropped == 0 {
			t.Errorf("round %d: %+v", round, n)
		}
	}
	got = append(got, rest(t, src).frames...)
	n := sum(src)
	if n.Received != 15000 || n.Delivered+n.Dropped != n.Received || n.Freezes == 0 || uint64(len(got)) != n.Delivered {
		t.Errorf("%d frames, %+v", len(got), n)
	}
	for i, f := range got {
		number := int(binary.BigEndian.Uint32(f[14:]))
		if !bytes.Equal(f, frames[number]) {
			t.Fatalf("frame %d: %x", i, f)
		}
	}
	if again := sum(src); again != n {
		t.Errorf("counters changed: %+v, %+v", n, again)
	}
	if err := src.Close(); err != nil || sum(src) != n {
		t.Errorf("after Close: %+v, %v", sum(src), err)
	}
}

func TestInterfaceGoes(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    error
	}{{"link set right down", ErrDown}, {"link del right", ErrRemoved}} {
		lab(t)
		src := open(t, Config{Interfaces: []string{"right"}, Rings: 2, BlockTimeout: 100 * time.Millisecond})
		send(t, openSender(t, "left"), numbered(0, 60))
		ended := make(chan *taken)
		go func() { ended <- take(t, src, -1) }()
		ip(t, tt.command)
		got := <-ended
		if !errors.Is(got.err, tt.want) || len(got.frames) != 1 {
			t.Errorf("%s: %v after %d frames", tt.command, got.err, len(got.frames))
		}
		if err := src.Next(&capture.Batch{}); !errors.Is(err, tt.want) {
			t.Errorf("%s: then %v", tt.command, err)
		}
	}
}

func TestInterfaceComesBack(t *testing.T) {
	lab(t)
	ip(t, "link set right down")
	src := open(t, Config{Interfaces: []string{"right"}, Rings: 2, Wait: true})
	// All of it happens on this thread, since new sockets are of its namespace.
	phase := 0
	works := func(when string) {
		t.Helper()
		phase++
		want := numbered(phase, 60)
		stop := traffic(t, "left", want)
		defer stop()
		for {
			got := take(t, src, 1).frames
			if len(got) == 0 {
				t.Fatal(when, ": nothing came")
			}
			if bytes.Equal(got[len(got)-1], want) {
				return
			}
		}
	}
	ip(t, "link set right up")
	works("up")
	ip(t, "link set right down")
	ip(t, "link set right up")
	works("down and up")
	ip(t, "link del right")
	makePair(t, "left", "right")
	works("made anew")
	ip(t, "link set right name renamed")
	works("renamed")
	if s := sum(src); s.Outages < 2 || s.Received < 4 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	rest(t, src)
}

func TestIdle(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}, Idle: 20 * time.Millisecond})
	var b capture.Batch
	for i := range 3 {
		if err := src.Next(&b); err != nil || len(b.Frames) > 0 {
			t.Fatalf("%d: %d frames, %v", i, len(b.Frames), err)
		}
	}
}

func TestStatsMeanwhile(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}, Rings: 2})
	ended := make(chan *taken)
	go func() { ended <- take(t, src, -1) }()
	s := openSender(t, "left")
	last := uint64(0)
	for i := range 50 {
		send(t, s, flows(100)...)
		if n := sum(src).Received; n < last || n > uint64(i+1)*100 {
			t.Errorf("%d received after %d", n, last)
		}
	}
	src.Stop()
	if got := <-ended; got.err != nil || len(got.frames) != 5000 || sum(src).Delivered != 5000 {
		t.Errorf("%d frames, %v, %+v", len(got.frames), got.err, sum(src))
	}
}

func TestClose(t *testing.T) {
	lab(t)
	src := open(t, Config{Interfaces: []string{"right"}})
	var b capture.Batch
	send(t, openSender(t, "left"), numbered(7, 60))
	for len(b.Frames) == 0 {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b.Data(0), numbered(7, 60)) {
		t.Error("the batch changed")
	}
	src.Stop()
	if err := src.Next(&b); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	lab(t)
	ip(t, "link set left down")
	for _, tt := range []struct {
		conf Config
		want error
	}{
		{Config{Interfaces: []string{"none"}}, ErrNoInterface},
		{Config{Interfaces: []string{"a-name-that-is-too-long"}}, ErrNoInterface},
		{Config{Interfaces: []string{"right", "left"}}, ErrDown},
		{Config{Interfaces: []string{Any}, Filter: []bpf.RawInstruction{{Op: 0x30, K: 12}, {Op: 6}}}, ErrFilter},
		{Config{Interfaces: []string{"right"}, Filter: []bpf.RawInstruction{{Op: 0xFFFF}}}, syscall.EINVAL},
		{Config{Interfaces: []string{"right"}, BlockBytes: maxBlockBytes + 1}, nil},
		{Config{Interfaces: []string{"right", Any}}, nil},
		{Config{Interfaces: []string{"right", "right"}}, nil},
		{Config{}, nil},
		{Config{Interfaces: []string{"right"}, Rings: 257}, nil},
		{Config{Interfaces: []string{"right"}, SnapLen: 8}, nil},
	} {
		src, err := Open(tt.conf)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt.conf, err)
			_ = src.Close()
		}
	}
	for name, want := range map[string]error{"none": ErrNoInterface, "left": ErrDown} {
		if _, err := OpenSender(SenderConfig{Interface: name}); !errors.Is(err, want) {
			t.Errorf("sender to %s: %v", name, err)
		}
	}
}

// TestPrivileges runs itself as nobody: with CAP_NET_RAW everything works, without it
// nothing does.
func TestPrivileges(t *testing.T) {
	const key = "FLOWDEDUP_NOBODY"
	if as := os.Getenv(key); as != "" {
		src, err := Open(Config{Interfaces: []string{"right"}, Rings: 2, Promiscuous: true, IgnoreOutgoing: true, HardwareTime: true})
		s, err2 := OpenSender(SenderConfig{Interface: "left"})
		if as == "nobody" {
			if !errors.Is(err, ErrNotPermitted) || !errors.Is(err2, ErrNotPermitted) {
				t.Errorf("Open: %v; OpenSender: %v", err, err2)
			}
			return
		}
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		send(t, s, numbered(0, 60))
		compare(t, rest(t, src).frames, [][]byte{numbered(0, 60)})
		return
	}
	lab(t)
	for as, capabilities := range map[string][]uintptr{"nobody": nil, "raw": {unix.CAP_NET_RAW}} {
		command := exec.Command("/proc/self/exe", "-test.run=^TestPrivileges$")
		command.Env = append(os.Environ(), key+"="+as)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: capabilities,
		}
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", as, err, out)
		}
	}
}
