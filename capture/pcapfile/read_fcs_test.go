package pcapfile

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// TestFCSLen takes the length of check sequences from packets and interfaces.
func TestFCSLen(t *testing.T) {
	for _, o := range orders {
		flags := func(v uint32) []byte { return ngOption(o, encoding.OptFlags, o.AppendUint32(nil, v)...) }
		data := slices.Concat(
			sectionBlock(o, 1, 0),
			interfaceBlock(o, 1, 0),
			interfaceBlock(o, 1, 0, ngOption(o, encoding.OptFCSLen, 4)),
			interfaceBlock(o, 1, 0, ngOption(o, encoding.OptFCSLen, 32)),
			packetBlock(o, 0, 1, 5, []byte("plain")),
			packetBlock(o, 0, 1, 5, []byte("four"), ngOption(o, 1, []byte("a comment")...), flags(4<<5|2), ngOption(o, encoding.OptEnd)),
			packetBlock(o, 1, 1, 5, []byte("iface"), flags(1)),
			packetBlock(o, 1, 1, 5, []byte("less"), flags(2<<5)),
			packetBlock(o, 2, 1, 5, []byte("bits")),
			obsoletePacketBlock(o, 0, 0, 1, 5, []byte("old"), flags(4<<5)),
			packetBlock(o, 0, 1, 5, []byte("short"), ngOption(o, encoding.OptFlags, 0x80), ngOption(o, encoding.OptEnd)),
			simpleBlock(o, 5, []byte("simple")),
		)
		src := open(t, data, Options{})
		var b capture.Batch
		var got []int
		for src.Next(&b) == nil {
			for i := range b.Frames {
				got = append(got, b.FCSLen(i))
			}
		}
		if want := []int{0, 4, 4, 2, 4, 4, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	pcap := pcapHeader(orders[0], magicMicroseconds, 2, 4, 100, 1|fcsLenPresent|2<<28)
	src := open(t, append(pcap, pcapRecord(nil, orders[0], 1, 1, 0, 0)...), Options{})
	var b capture.Batch
	if err := src.Next(&b); err != nil || b.FCSLen(0) != 4 {
		t.Errorf("%v, %d bytes", err, b.FCSLen(0))
	}
}
