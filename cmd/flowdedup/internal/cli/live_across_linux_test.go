package cli

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// sighting is a packet as one interface saw it, read without what is tested.
type sighting struct {
	at              string // interface
	addresses, tags string // of the link header
	from, to        string // IP addresses; empty for other packets
	hops            byte
	// datagram is what stays on the way: the IP packet without hops and header
	// checksum, or a frame without IP without its tags.
	datagram string
}

// sightings reads a capture file.
func sightings(t *testing.T, name string) (all []*sighting) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			iface := &b.Interfaces[b.Frames[i].Interface]
			all = append(all, newSighting(iface, slices.Clone(b.Data(i))))
		}
	}
	return all
}

// newSighting takes a frame of Ethernet, or with a cooked header, apart.
func newSighting(iface *capture.Interface, frame []byte) *sighting {
	s := &sighting{at: iface.Name}
	var p gopacket.Packet
	switch iface.LinkType {
	case capture.LinkLinuxSLL2:
		const index, address, end = 4, 12, 20
		s.at, s.addresses = string(frame[index:index+4]), string(frame[address:end])
		kind := layers.EthernetType(binary.BigEndian.Uint16(frame))
		s.datagram = s.addresses + string(frame[:2]) + string(frame[end:])
		p = gopacket.NewPacket(frame[end:], kind, gopacket.NoCopy)
	default:
		s.addresses, s.datagram = string(frame[:12]), string(frame)
		p = gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
	}
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *layers.Dot1Q:
			s.tags += string(l.Contents[:2])
			s.datagram = s.addresses + string(l.Contents[2:]) + string(l.Payload)
		case *layers.IPv4:
			s.from, s.to, s.hops = l.SrcIP.String(), l.DstIP.String(), l.TTL
			l.Contents[8], l.Contents[10], l.Contents[11] = 0, 0, 0
			s.datagram = string(l.Contents) + string(l.Payload)
			return s
		case *layers.IPv6:
			s.from, s.to, s.hops = l.SrcIP.String(), l.DstIP.String(), l.HopLimit
			l.Contents[7] = 0
			s.datagram = string(l.Contents) + string(l.Payload)
			return s
		}
	}
	return s
}

// acrossRun is a live run for packets of another interface, with files of both kinds.
type acrossRun struct {
	*liveRun
	kept, removed string
}

func startAcross(t *testing.T, interfaces []string, args ...string) *acrossRun {
	t.Helper()
	r := &acrossRun{kept: filepath.Join(t.TempDir(), "kept.pcapng"), removed: filepath.Join(t.TempDir(), "removed.pcapng")}
	r.liveRun = startLive(t, append(acrossArgs(interfaces, args...), "-w", r.kept, "--duplicates", r.removed)...)
	return r
}

// startInPlace starts a run that leaves packets in the ring: one worker, and no files.
func startInPlace(t *testing.T, interfaces []string) *liveRun {
	t.Helper()
	return startLive(t, acrossArgs(interfaces, "--workers", "1")...)
}

func acrossArgs(interfaces []string, args ...string) []string {
	for _, name := range interfaces {
		args = append(args, "-i", name)
	}
	return append(args, "--across", "--window", "1m", "--memory", "1MiB", "--ring-size", "64MiB", "--json")
}

// checkCopies compares both files with what the run says: each packet removed is a copy
// of one that was kept, and no packet kept is one of another.
func (r *acrossRun) checkCopies(s *liveSummary, isCopy func(kept, removed *sighting) bool) {
	t := r.t
	t.Helper()
	stay, gone := sightings(t, r.kept), sightings(t, r.removed)
	if uint64(len(stay)) != s.PacketsOut || uint64(len(gone)) != s.Duplicates {
		t.Errorf("%d packets were kept and %d removed: %+v", len(stay), len(gone), s)
	}
	of := map[string][]*sighting{}
	for _, k := range stay {
		for _, other := range of[k.datagram] {
			if isCopy(other, k) {
				t.Fatalf("kept twice: %+v and %+v", other, k)
			}
		}
		of[k.datagram] = append(of[k.datagram], k)
	}
	for _, g := range gone {
		if !slices.ContainsFunc(of[g.datagram], func(k *sighting) bool { return isCopy(k, g) }) {
			t.Fatalf("removed without a cause: %+v", g)
		}
	}
}
