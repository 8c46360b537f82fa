package ring

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

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

func TestTagsPutBack(t *testing.T) { bothPlaces(t, testTagsPutBack) }

func testTagsPutBack(t *testing.T, inPlace bool) {
	enterLab(t)
	src := open(t, Config{InPlace: inPlace, Interfaces: []string{"right"}})
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
		for _, f := range got.frames {
			if binary.BigEndian.Uint32(f[4:]) == uint32(iface.Index) {
				// Protocol and body are what stands behind the addresses.
				bodies = append(bodies, append(append([]byte{}, sent[0][:6]...), append(f[12:18:18], append(f[:2:2], f[20:]...)...)...))
			}
		}
		compare(t, bodies, sent)
	}
	if !inPlace {
		checkFile(t, got, Any, capture.LinkLinuxSLL2)
	}
}
