package capture

import (
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture/internal/forge"
)

// TestPcapgoReads reads the outputs with another library.
func TestPcapgoReads(t *testing.T) {
	r := split(t, modes[1].open(t, 40), true, none)
	old, err := pcapgo.NewReader(&r.kept)
	if err != nil {
		t.Fatal(err)
	}
	old.SetSnaplen(1 << 30) // it does not know that 0 means no limit
	for i, want := range r.wantKept {
		data, info, err := old.ReadPacketData()
		if err != nil || string(data) != want.data || info.Timestamp.UnixNano() != want.time || uint32(info.Length) != want.wire {
			t.Fatalf("pcap packet %d: %v, %v", i, info, err)
		}
	}

	g := forge.Pcap(1, 40, 1, 0)
	r = split(t, Merge([]Source{source(t, g.Bytes(), "a"), source(t, forge.Pcap(2, 40, 101, 0).Bytes(), "b")}, nil), true, none)
	ng, err := pcapgo.NewNgReader(&r.kept, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range r.wantKept {
		data, info, err := ng.ReadPacketData()
		if err != nil || string(data) != want.data || info.Timestamp.UnixNano() != want.time || uint32(info.Length) != want.wire ||
			info.AncillaryData[0].(layers.LinkType) != layers.LinkType(want.link) {
			t.Fatalf("pcapng packet %d: %v, %v", i, info, err)
		}
	}
	if app := ng.SectionInfo().Application; app != application {
		t.Errorf("written by %q", app)
	}
}
