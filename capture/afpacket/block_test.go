// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// testPacket is a packet as the kernel puts it into a ring block.
type testPacket struct {
	data    []byte
	wireLen uint32
	time    int64
	status  uint32
	tci     uint16
	tpid    uint16
	link    int // length of the link header, as the kernel sees it
	address [20]byte
}

// blockOf lays out packets as the kernel's tpacket_rcv does.
func blockOf(size int, packets ...testPacket) []byte {
	block := make([]byte, size)
	native.PutUint32(block[blockStatusAt:], 1)
	native.PutUint32(block[blockPacketsAt:], uint32(len(packets)))
	native.PutUint32(block[blockFirstAt:], blockHeadLen)
	at := blockHeadLen
	for i, p := range packets {
		const mac = 82
		next := (mac + len(p.data) + 15) &^ 15
		f := block[at : at+next]
		if i < len(packets)-1 {
			native.PutUint32(f[frameNextAt:], uint32(next))
		}
		native.PutUint32(f[frameSecondAt:], uint32(p.time/1e9))
		native.PutUint32(f[frameNanoAt:], uint32(p.time%1e9))
		native.PutUint32(f[frameSnapLenAt:], uint32(len(p.data)))
		native.PutUint32(f[frameLenAt:], max(p.wireLen, uint32(len(p.data))))
		native.PutUint32(f[frameStatusAt:], p.status)
		native.PutUint16(f[frameMacAt:], mac)
		native.PutUint16(f[frameNetAt:], mac+uint16(p.link))
		native.PutUint32(f[frameTCIAt:], uint32(p.tci))
		native.PutUint16(f[frameTPIDAt:], p.tpid)
		copy(f[frameAddressAt:], p.address[:])
		copy(f[mac:], p.data)
		at += next
	}
	return block
}

// randomPacket returns a packet of n bytes.
func randomPacket(r *rand.Rand, n int) testPacket {
	p := testPacket{data: make([]byte, n), time: 1_700_000_000_000_000_000 + r.Int64N(1e15)}
	for i := range p.data {
		p.data[i] = byte(r.Uint32())
	}
	for i := range p.address {
		p.address[i] = byte(r.Uint32())
	}
	p.link = r.IntN(n + 1)
	if r.IntN(2) == 0 { // with other bytes behind the address
		p.address[11] = byte(r.IntN(9))
	}
	if r.IntN(2) == 0 {
		native.PutUint16(p.address[8:], [...]uint16{hardwareEther, hardwareLoopback}[r.IntN(2)])
	}
	if r.IntN(3) == 0 {
		p.wireLen = uint32(n + r.IntN(2000))
	}
	if r.IntN(2) == 0 {
		p.status |= statusVLAN | statusTPID
		p.tci, p.tpid = uint16(r.Uint32()), [...]uint16{0x8100, 0x88A8, 0x9100}[r.IntN(3)]
	}
	return p
}

// wanted is the record that take must make of a packet, in the simplest code.
func wanted(w *walker, p *testPacket) (data []byte, wireLen uint32) {
	var tag []byte
	if p.status&statusVLAN != 0 {
		tpid := p.tpid
		if p.status&statusTPID == 0 {
			tpid = 0x8100
		}
		tag = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, tpid), p.tci)
	}
	whole := p.data
	switch {
	case w.cooked:
		protocol, link := p.address[2:4], p.link
		if hw := native.Uint16(p.address[8:]); (hw == 1 || hw == 772) && len(p.data) >= 14 {
			link = 14
			if p.data[12] >= 6 {
				protocol = p.data[12:14]
			}
		}
		head := append([]byte{}, protocol...)
		if tag != nil {
			head = append([]byte{}, tag[:2]...)
		}
		head = append(head, 0, 0)
		head = binary.BigEndian.AppendUint32(head, native.Uint32(p.address[4:]))
		head = binary.BigEndian.AppendUint16(head, native.Uint16(p.address[8:]))
		head = append(head, p.address[10:12+min(p.address[11], 8)]...)
		head = append(head, make([]byte, 20-len(head))...)
		if tag != nil {
			head = append(append(head, tag[2:]...), protocol...)
		}
		whole = append(head, p.data[link:]...)
	case tag != nil && w.tagged && len(p.data) >= 12:
		whole = append(append(append([]byte{}, p.data[:12]...), tag...), p.data[12:]...)
	}
	wireLen = max(p.wireLen, uint32(len(p.data))) + uint32(len(whole)) - uint32(len(p.data))
	if limit := int(w.snapLen); len(whole) > limit {
		whole = whole[:limit]
	}
	return whole, wireLen
}

// checkRecords reads the records of b as part of a pcapng section, and compares the
// result with the frames.
func checkRecords(t *testing.T, w *walker, b *capture.Batch) {
	t.Helper()
	file := capture.AppendSectionHeader(nil)
	for range w.iface + 1 {
		file = capture.AppendInterface(file, &capture.Interface{LinkType: capture.LinkEthernet}, true)
	}
	src, err := pcapfile.NewReader(bytes.NewReader(append(file, b.Buf...)), "test", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for again := (capture.Batch{}); ; {
		if err := src.Next(&again); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range again.Frames {
			got, want := again.Frames[i], b.Frames[seen]
			if got.Time != want.Time || got.WireLen != want.WireLen || got.Interface != want.Interface ||
				!bytes.Equal(again.Record(i), b.Record(seen)) || !bytes.Equal(again.Data(i), b.Data(seen)) {
				t.Fatalf("frame %d is read back as %+v, was %+v", seen, got, want)
			}
			seen++
		}
	}
	if seen != len(b.Frames) {
		t.Fatalf("%d frames are read back, of %d", seen, len(b.Frames))
	}
}

func TestTake(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, w := range inBothPlaces(
		walker{snapLen: MaxSnapLen, tagged: true},
		walker{snapLen: 64, tagged: true, iface: 2},
		walker{snapLen: MaxSnapLen}, // raw IP
		walker{snapLen: MaxSnapLen, cooked: true},
		walker{snapLen: minSnapLen, cooked: true},
	) {
		var packets []testPacket
		for n := range 200 {
			packets = append(packets, randomPacket(r, n))
		}
		var b capture.Batch
		if err := w.takeFrom(&b, blockOf(1<<16, packets...)); err != nil {
			t.Fatal(err)
		}
		if len(b.Frames) != len(packets) {
			t.Fatalf("%d frames of %d packets", len(b.Frames), len(packets))
		}
		for i := range packets {
			data, wireLen := wanted(&w, &packets[i])
			if !bytes.Equal(b.Data(i), data) {
				t.Fatalf("%+v: frame %d is %x, want %x", w, i, b.Data(i), data)
			}
			if f := b.Frames[i]; f.WireLen != wireLen || f.Time != packets[i].time {
				t.Fatalf("%+v: frame %d: %+v, want wire length %d, time %d", w, i, f, wireLen, packets[i].time)
			}
		}
		if !w.inPlace {
			checkRecords(t, &w, &b)
		}
	}
}

// inBothPlaces returns the walkers, and each of them in place as well.
func inBothPlaces(walkers ...walker) (all []walker) {
	for _, w := range walkers {
		there := w
		there.inPlace = true
		all = append(all, w, there)
	}
	return all
}

// takeFrom begins a batch with a block, as Capture.fill does. In place, an earlier block lies
// before it.
func (w *walker) takeFrom(b *capture.Batch, block []byte) error {
	w.bytes = 0
	if !w.inPlace {
		return w.take(b, block, 0)
	}
	b.Buf = append(make([]byte, len(block)), block...)
	return w.take(b, b.Buf[len(block):], len(block))
}

// TestTakeInParts takes blocks that fill several batches, and damaged blocks up to the
// damage.
func TestTakeInParts(t *testing.T) {
	for _, w := range inBothPlaces(walker{snapLen: MaxSnapLen, tagged: true}) {
		testTakeInParts(t, w)
	}
}

func testTakeInParts(t *testing.T, w walker) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tt := range []struct{ packets, size, parts int }{
		{3*batchPackets + 1, 60, 4},
		{3 * batchPackets, 1, 3},
		{100, 9000, 4},
		{10, 60, 1},
		{0, 0, 1},
	} {
		packets := make([]testPacket, tt.packets)
		for i := range packets {
			packets[i] = randomPacket(r, tt.size)
		}
		block := blockOf(blockHeadLen+tt.packets*(tt.size+160)+256, packets...)
		taken, parts := 0, 0
		for again := true; again; again = w.left > 0 {
			var b capture.Batch
			if err := w.takeFrom(&b, block); err != nil {
				t.Fatal(err)
			}
			if parts++; w.left > 0 && !w.full(&b) {
				t.Fatalf("%+v: %d packets and %d bytes, and more are left", tt, len(b.Frames), len(b.Buf))
			}
			for i := range b.Frames {
				if data, _ := wanted(&w, &packets[taken]); !bytes.Equal(b.Data(i), data) {
					t.Fatalf("%+v: packet %d is %x, want %x", tt, taken, b.Data(i), data)
				}
				taken++
			}
		}
		if taken != tt.packets || parts != tt.parts {
			t.Errorf("%+v: %d packets in %d parts", tt, taken, parts)
		}
		// No packet follows the last packet.
		native.PutUint32(block[blockPacketsAt:], uint32(tt.packets)+1)
		if n, err := takeAll(&w, block); n != max(tt.packets-1, 0) || !errors.Is(err, capture.ErrDamaged) || w.left != 0 {
			t.Errorf("%+v: damaged after %d packets: %v", tt, n, err)
		}
	}
}

// takeAll takes a block until it is used up, and returns how many packets it had.
func takeAll(w *walker, block []byte) (packets int, err error) {
	for again := true; again && err == nil; again = w.left > 0 {
		var b capture.Batch
		err = w.takeFrom(&b, block)
		packets += len(b.Frames)
	}
	return packets, err
}

func TestTakeCounts(t *testing.T) {
	w := walker{snapLen: 100, tagged: true}
	var b capture.Batch
	data := make([]byte, 100)
	err := w.takeFrom(&b, blockOf(1<<12,
		testPacket{data: data},
		testPacket{data: data, wireLen: 101},
		testPacket{data: data[:96], status: statusVLAN, tci: 0}, // VLAN 0, of an old kernel
		testPacket{data: data[:97], status: statusVLAN | statusTPID, tpid: 0x88A8},
		testPacket{data: data, status: statusChecksumNotReady | statusGSO},
		testPacket{data: data, status: statusHardware},
	))
	want := walkerCounts{delivered: 6, truncated: 2, tagged: 2, coalesced: 1, checksumOffloaded: 1, hardware: 1, unhandled: 2}
	if err != nil || w.counts != want {
		t.Errorf("%+v, %v; want %+v", w.counts, err, want)
	}
	if tag := b.Data(2)[12:16]; !bytes.Equal(tag, []byte{0x81, 0, 0, 0}) {
		t.Errorf("tag %x", tag)
	}
}

// TestTakeAllocatesNothing takes blocks into a batch that has held as much before.
func TestTakeAllocatesNothing(t *testing.T) {
	w := walker{snapLen: MaxSnapLen, tagged: true}
	block := blockOf(1<<12, testPacket{data: make([]byte, 60)}, testPacket{data: make([]byte, 600), status: statusVLAN})
	var b capture.Batch
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		if err := w.take(&b, block, 0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a block", n)
	}
}

// TestTakeDamaged damages each number of a block in turn.
func TestTakeDamaged(t *testing.T) {
	whole := blockOf(1<<12, testPacket{data: make([]byte, 60)}, testPacket{data: make([]byte, 60)})
	second := blockHeadLen + int(native.Uint32(whole[blockHeadLen:]))
	for _, tt := range []struct {
		name    string
		at      int
		value   uint32
		packets int // before the damage
	}{
		{"first beyond the block", blockFirstAt, 1 << 12, 0},
		{"first at its end", blockFirstAt, 1<<12 - frameHeadLen + 1, 0},
		{"first wraps", blockFirstAt, 1<<32 - 1, 0},
		{"more packets than there are", blockPacketsAt, 3, 1},
		{"many more", blockPacketsAt, 1<<32 - 1, 1},
		{"next within the frame", blockHeadLen + frameNextAt, 16, 0},
		{"next beyond the block", blockHeadLen + frameNextAt, 1<<12 - blockHeadLen + 1, 0},
		{"next wraps", blockHeadLen + frameNextAt, 1<<32 - 16, 0},
		{"packet longer than its frame", blockHeadLen + frameSnapLenAt, 79, 0},
		{"packet length wraps", blockHeadLen + frameSnapLenAt, 1<<32 - 1, 0},
		{"last packet beyond the block", second + frameSnapLenAt, 1 << 12, 1},
		{"packet within the headers", second + frameMacAt, frameHeadLen - 1, 1},
		{"packet behind the block", second + frameMacAt, 0xFFFF, 1},
	} {
		w := walker{snapLen: MaxSnapLen, tagged: true}
		block := bytes.Clone(whole)
		native.PutUint32(block[tt.at:], tt.value)
		var b capture.Batch
		if err := w.take(&b, block, 0); !errors.Is(err, capture.ErrDamaged) || len(b.Frames) != tt.packets {
			t.Errorf("%s: %v after %d frames, want %d", tt.name, err, len(b.Frames), tt.packets)
		}
	}
}

// FuzzTake checks that a walk over any bytes does not panic, and makes records that can
// be read back.
func FuzzTake(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 8 {
		f.Add(blockOf(1<<10, randomPacket(r, n*10), randomPacket(r, 60)), uint32(64), n%2 == 0, n%3 == 0)
	}
	f.Fuzz(func(t *testing.T, block []byte, snapLen uint32, cooked, tagged bool) {
		walkers := inBothPlaces(walker{snapLen: max(snapLen, minSnapLen), cooked: cooked, tagged: tagged})
		var b, there capture.Batch
		err := walkers[0].takeFrom(&b, block)
		if err != nil && !errors.Is(err, capture.ErrDamaged) {
			t.Fatal(err)
		}
		if len(b.Buf) > len(block) {
			t.Fatalf("%d bytes of records from a block of %d", len(b.Buf), len(block))
		}
		checkRecords(t, &walkers[0], &b)
		if again := walkers[1].takeFrom(&there, block); (again == nil) != (err == nil) || walkers[1].counts != walkers[0].counts {
			t.Fatalf("in place %+v: %v, otherwise %+v: %v", walkers[1].counts, again, walkers[0].counts, err)
		}
		checkSamePackets(t, &b, &there)
	})
}

// checkSamePackets compares two batches, except for where the packets lie.
func checkSamePackets(t *testing.T, b, there *capture.Batch) {
	t.Helper()
	if len(there.Frames) != len(b.Frames) {
		t.Fatalf("%d packets in place of %d", len(there.Frames), len(b.Frames))
	}
	for i := range b.Frames {
		want, got := b.Frames[i], there.Frames[i]
		if !bytes.Equal(b.Data(i), there.Data(i)) {
			t.Fatalf("packet %d is %x in place of %x", i, there.Data(i), b.Data(i))
		}
		want.Data, want.Record, want.RecordLen = got.Data, 0, 0
		if got != want {
			t.Fatalf("packet %d is %+v in place of %+v", i, got, want)
		}
	}
}
