package gopackets_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/engine"
)

const pcaps = "../../testdata/pcaps/"

// packet is one as a test compares it.
type packet struct {
	data  string
	time  int64
	wire  uint32
	link  capture.LinkType
	iface string
}

// drain returns the packets of a source, and what ended it.
func drain(src capture.Source) (all []packet, err error) {
	var b capture.Batch
	for {
		if err := src.Next(&b); err != nil {
			return all, err
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			it := &b.Interfaces[f.Interface]
			all = append(all, packet{string(b.Data(i)), f.Time, f.WireLen, it.LinkType, it.Name})
		}
	}
}

// fileOf returns the packets of a file as the readers of this project have them.
func fileOf(t testing.TB, name string) []packet {
	t.Helper()
	src, err := capture.Open(name, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := drain(src)
	if err != io.EOF {
		t.Fatal(err)
	}
	return all
}

// open returns a handle of pcapgo on a file.
func open(t testing.TB, name string) gopacket.PacketDataSource {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var handle gopacket.PacketDataSource
	if strings.HasSuffix(name, ".pcapng") {
		handle, err = pcapgo.NewNgReader(bytes.NewReader(content), pcapgo.DefaultNgReaderOptions)
	} else {
		handle, err = pcapgo.NewReader(bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// plain hides that a handle reads without copies.
type plain struct{ gopacket.PacketDataSource }

// borrowed hides that a handle reads in another way.
type borrowed struct {
	gopacket.ZeroCopyPacketDataSource
}

// ways are the kinds of handles that there are.
var ways = map[string]func(gopacket.PacketDataSource) gopacket.PacketDataSource{
	"both":  func(h gopacket.PacketDataSource) gopacket.PacketDataSource { return h },
	"plain": func(h gopacket.PacketDataSource) gopacket.PacketDataSource { return plain{h} },
	"zero copy": func(h gopacket.PacketDataSource) gopacket.PacketDataSource {
		return gopackets.ZeroCopy(borrowed{h.(gopacket.ZeroCopyPacketDataSource)})
	},
}

// TestSource compares what comes through pcapgo with what comes from the file itself.
func TestSource(t *testing.T) {
	names, err := filepath.Glob(pcaps + "*.pcap*")
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		want := fileOf(t, name)
		for way, of := range ways {
			cfg := gopackets.SourceConfig{LinkType: want[0].link}
			if !strings.Contains(name, "any-sll2") && way == "both" {
				cfg.LinkType = 0 // the handle tells it
			}
			got, err := drain(gopackets.NewSource(of(open(t, name)), cfg))
			if err != io.EOF || len(got) != len(want) {
				t.Fatalf("%s, %s: %d packets of %d, %v", name, way, len(got), len(want), err)
			}
			for i := range got {
				if !strings.HasSuffix(name, ".pcapng") || way != "both" {
					got[i].iface = want[i].iface
				}
				if got[i] != want[i] {
					t.Fatalf("%s, %s: packet %d: got %+v, want %+v", name, way, i, got[i], want[i])
				}
			}
		}
	}
}

// TestOnce gives out the packets that stay in a file, as the handle has them.
func TestOnce(t *testing.T) {
	for _, name := range []string{"router-plain.pcapng", "router-vlan.pcapng", "router-snap96.pcapng", "loopback-twice.pcap", "loopback.pcap"} {
		want, copies := kept(t, open(t, pcaps+name))
		for way, of := range ways {
			for _, ahead := range []int{0, 1, 7, 10_000} {
				for _, lent := range []bool{false, true} {
					once := gopackets.Once(of(open(t, pcaps+name)), gopackets.Config{Ahead: ahead})
					got, err := readAll(once, lent)
					read, dropped := once.Counts()
					if err != io.EOF || !reflect.DeepEqual(got, want) || read != uint64(len(want)+copies) || dropped != uint64(copies) {
						t.Errorf("%s, %s, %d ahead, lent %v: %d packets of %d, %v", name, way, ahead, lent, len(got), len(want), err)
					}
					if err := once.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// given is a packet as a handle of gopacket gives it.
type given struct {
	data string
	info gopacket.CaptureInfo
}

// readAll reads packets to the first error.
func readAll(src *gopackets.Packets, lent bool) (all []given, err error) {
	for {
		read := src.ReadPacketData
		if lent {
			read = src.ZeroCopyReadPacketData
		}
		data, info, err := read()
		if err != nil {
			return all, err
		}
		all = append(all, given{string(data), info})
	}
}

// kept returns those packets of a handle that a detector lets through.
func kept(t *testing.T, handle gopacket.PacketDataSource) (all []given, copies int) {
	t.Helper()
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer detector.Close()
	link := handle.(interface{ LinkType() layers.LinkType }).LinkType()
	for {
		data, info, err := handle.ReadPacketData()
		if err == io.EOF {
			return all, copies
		}
		if err != nil {
			t.Fatal(err)
		}
		var b capture.Batch
		at := b.AppendInterface(capture.Interface{LinkType: capture.LinkType(link)})
		b.Append(capture.Frame{Time: info.Timestamp.UnixNano(), WireLen: uint32(info.Length), Interface: at}, data)
		if detector.Copies(&b)[0]&1 != 0 {
			copies++
			continue
		}
		all = append(all, given{string(data), info})
	}
}

// TestOnceData leaves data alone that was given out before.
func TestOnceData(t *testing.T) {
	for way, of := range ways {
		once := gopackets.Once(of(open(t, pcaps+"router-plain.pcapng")), gopackets.Config{Ahead: 5})
		var all [][]byte
		var was []string
		for {
			data, _, err := once.ReadPacketData()
			if err != nil {
				break
			}
			all, was = append(all, data), append(was, string(data))
		}
		for i := range all {
			if string(all[i]) != was[i] {
				t.Fatalf("%s: packet %d has changed", way, i)
			}
		}
	}
}

// script is a handle that does as it is told.
type script []any // packets as []byte, their descriptions, and errors

func (s *script) ReadPacketData() (data []byte, info gopacket.CaptureInfo, err error) {
	for len(*s) > 0 {
		next := (*s)[0]
		*s = (*s)[1:]
		switch next := next.(type) {
		case error:
			return nil, info, next
		case gopacket.CaptureInfo:
			info = next
		case []byte:
			return next, info, nil
		}
	}
	return nil, info, io.EOF
}

var (
	errIdle   = errors.New("Timeout Expired")
	errBroken = errors.New("broken")
)

// TestSourceErrors delivers what came before an error, and tells errors apart.
func TestSourceErrors(t *testing.T) {
	p := []byte("packet")
	for _, c := range []struct {
		name    string
		script  script
		packets int
		want    error
		unread  bool
	}{
		{"empty", nil, 0, io.EOF, false},
		{"end", script{p, p, p}, 3, io.EOF, false},
		{"cut", script{p, p, p, io.ErrUnexpectedEOF, p}, 3, capture.ErrTruncated, true},
		{"broken", script{errBroken}, 0, errBroken, true},
		{"idle", script{errIdle, p, errIdle, p, p, p}, 4, io.EOF, false},
		{"signal", script{p, syscall.EINTR, p}, 2, io.EOF, false},
		{"timeout", script{p, os.ErrDeadlineExceeded, p, syscall.EAGAIN}, 2, io.EOF, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := gopackets.NewSource(&c.script, gopackets.SourceConfig{
				Name: "handle", Temporary: func(err error) bool { return err == errIdle },
			})
			all, err := drain(src)
			if len(all) != c.packets || !errors.Is(err, c.want) || capture.IsUnread(err) != c.unread {
				t.Errorf("%d packets, %v", len(all), err)
			}
			var b capture.Batch
			if again := src.Next(&b); again != err || len(b.Frames)+len(b.Blocks) > 0 {
				t.Errorf("%v, then %v", err, again)
			}
			if done, _ := src.Offset(); done != int64(c.packets*len(p)) {
				t.Errorf("%d bytes of %d packets", done, c.packets)
			}
			if c.unread && !strings.HasPrefix(err.Error(), "handle: offset ") {
				t.Error(err)
			}
		})
	}
}

// slow is a handle whose packets come when somebody asks for them.
type slow chan []byte

func (s slow) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, ok := <-s
	if !ok {
		return nil, gopacket.CaptureInfo{}, io.EOF
	}
	return data, gopacket.CaptureInfo{Length: len(data)}, nil
}

// TestNoWait gives packets out before others have come.
func TestNoWait(t *testing.T) {
	handle := make(slow, 1)
	src := gopackets.NewSource(handle, gopackets.SourceConfig{})
	var b capture.Batch
	for range 5 {
		handle <- []byte("packet")
		if err := src.Next(&b); err != nil || len(b.Frames) != 1 {
			t.Fatalf("%d packets, %v", len(b.Frames), err)
		}
	}
	close(handle)
	if err := src.Next(&b); err != io.EOF {
		t.Error(err)
	}
	for _, ahead := range []int{0, 100} {
		handle := make(slow, 1)
		once := gopackets.Once(handle, gopackets.Config{Ahead: ahead})
		for i := range 5 {
			handle <- []byte{byte(i)}
			if data, _, err := once.ReadPacketData(); err != nil || data[0] != byte(i) {
				t.Fatal(data, err)
			}
		}
		close(handle)
	}
}

// TestClose ends a call that waits for a handle, and reading ahead.
func TestClose(t *testing.T) {
	handle := make(slow)
	defer close(handle)
	src := gopackets.NewSource(handle, gopackets.SourceConfig{})
	ended := make(chan error)
	go func() {
		var b capture.Batch
		ended <- src.Next(&b)
	}()
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	for _, ahead := range []int{0, 10} {
		n := int64(0)
		once := gopackets.Once(repeated{[]byte("x"), &n}, gopackets.Config{Ahead: ahead})
		if _, _, err := once.ReadPacketData(); err != nil {
			t.Error(err)
		}
		if err := once.Close(); err != nil {
			t.Error(err)
		}
		if _, _, err := once.ReadPacketData(); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestOnceErrors hands errors on at their place among the packets, and reads on.
func TestOnceErrors(t *testing.T) {
	for _, ahead := range []int{0, 1, 2, 100} {
		s := script{errIdle, []byte("a"), []byte("b"), errIdle, errBroken, []byte("c")}
		once := gopackets.Once(&s, gopackets.Config{Ahead: ahead})
		var got []string
		for range 8 {
			data, _, err := once.ReadPacketData()
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, string(data))
			}
		}
		if want := []string{"Timeout Expired", "a", "b", "Timeout Expired", "broken", "c", "EOF", "EOF"}; !slices.Equal(got, want) {
			t.Errorf("%d ahead: %v", ahead, got)
		}
	}
}

// TestDescriptions keeps what a handle tells of packets.
func TestDescriptions(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	s := script{
		gopacket.CaptureInfo{Timestamp: at, Length: 1500, InterfaceIndex: 7}, []byte("cut"),
		gopacket.CaptureInfo{Length: -1, InterfaceIndex: 3}, []byte("untimed"),
		gopacket.CaptureInfo{Timestamp: time.Unix(1<<40, 0), Length: math.MaxInt64, InterfaceIndex: 7}, []byte("wild"),
		gopacket.CaptureInfo{Timestamp: time.Unix(-1<<40, 0), InterfaceIndex: 7, AncillaryData: []any{layers.LinkTypeIPv4}}, []byte("raw"),
		gopacket.CaptureInfo{Timestamp: at, InterfaceIndex: 7, AncillaryData: []any{"other"}}, []byte{},
	}
	var b capture.Batch
	if err := gopackets.NewSource(&s, gopackets.SourceConfig{}).Next(&b); err != nil {
		t.Fatal(err)
	}
	for i, want := range []packet{
		{"cut", at.UnixNano(), 1500, capture.LinkEthernet, "interface 7"},
		{"untimed", capture.NoTime, 7, capture.LinkEthernet, "interface 3"},
		{"wild", math.MaxInt64, math.MaxUint32, capture.LinkEthernet, "interface 7"},
		{"raw", math.MinInt64 + 1, 3, capture.LinkIPv4, "interface 7"},
		{"", at.UnixNano(), 0, capture.LinkEthernet, "interface 7"},
	} {
		f := &b.Frames[i]
		it := &b.Interfaces[f.Interface]
		if got := (packet{string(b.Data(i)), f.Time, f.WireLen, it.LinkType, it.Name}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if len(b.Interfaces) != 3 || b.Frames[0].Interface != b.Frames[4].Interface {
		t.Errorf("%+v", b.Interfaces)
	}
}

// TestMixedLinkTypes takes each packet for what its own interface says.
func TestMixedLinkTypes(t *testing.T) {
	var out bytes.Buffer
	w := capture.NewWriter(&out, true)
	var b capture.Batch
	ether := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "left"})
	raw := b.AppendInterface(capture.Interface{LinkType: capture.LinkIPv4, Name: "right"})
	for i := range 10 {
		b.Append(capture.Frame{Time: int64(i), Interface: []uint32{ether, raw}[i%2]}, []byte("a packet of some length"))
	}
	if err := errors.Join(w.Write(&b, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	handle, err := pcapgo.NewNgReader(&out, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := drain(gopackets.NewSource(handle, gopackets.SourceConfig{}))
	if err != io.EOF || len(all) != 10 {
		t.Fatal(len(all), err)
	}
	for i, p := range all {
		if want := b.Interfaces[i%2]; p.link != want.LinkType || p.iface != want.Name {
			t.Errorf("packet %d: %+v", i, p)
		}
	}
}

// TestOnceDetector judges by a detector of the caller's.
func TestOnceDetector(t *testing.T) {
	detector, err := dedup.New(dedup.Config{Filter: engine.TimedConfig{Window: engine.Window{Duration: time.Minute}}})
	if err != nil {
		t.Fatal(err)
	}
	defer detector.Close()
	frame := bytes.Repeat([]byte("x"), 60)
	s := script{
		gopacket.CaptureInfo{Timestamp: time.Unix(1, 0)}, frame,
		gopacket.CaptureInfo{Timestamp: time.Unix(50, 0)}, frame,
		gopacket.CaptureInfo{Timestamp: time.Unix(62, 0)}, frame,
	}
	once := gopackets.Once(&s, gopackets.Config{Detector: detector})
	got, err := readAll(once, false)
	if err != io.EOF || len(got) != 2 || got[1].info.Timestamp != time.Unix(62, 0) {
		t.Errorf("%v, %v", got, err)
	}
	if err := once.Close(); err != nil {
		t.Error(err)
	}
}

// TestOnceAllocations reads packets without copies, and without memory for each.
func TestOnceAllocations(t *testing.T) {
	src := repeated{make([]byte, 100), new(int64)}
	for _, ahead := range []int{0, 64} {
		once := gopackets.Once(src, gopackets.Config{Ahead: ahead})
		read := func() {
			for range 100 {
				if _, _, err := once.ZeroCopyReadPacketData(); err != nil {
					t.Fatal(err)
				}
			}
		}
		read()
		if n := testing.AllocsPerRun(10, read); n != 0 {
			t.Errorf("%d ahead: %v allocations", ahead, n)
		}
	}
}

// repeated is a handle without an end. Its packets come a second apart.
type repeated struct {
	data []byte
	n    *int64
}

func (r repeated) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, info, err := r.ZeroCopyReadPacketData()
	return bytes.Clone(data), info, err
}

func (r repeated) ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	*r.n++
	return r.data, gopacket.CaptureInfo{Timestamp: time.Unix(*r.n, 0), CaptureLength: len(r.data), Length: len(r.data)}, nil
}
