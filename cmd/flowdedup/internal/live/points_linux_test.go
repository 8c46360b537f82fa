// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLivePointsGoOn checks that a resumed run recognizes interfaces, whatever the order
// of their packets and their new indices.
func TestLivePointsGoOn(t *testing.T) {
	t.Parallel()
	for name, interfaces := range map[string][]string{
		"any": {"-i", "any"}, "named": {"-i", "spare", "-i", "left1", "-i", "left2"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.Lab(t, "spare other", "left1 right1", "left2 right2")
			args := append(interfaces, "--ignore-outgoing", "--across", "--window", "1h", "--memory", "1MiB", "--json",
				"--state", filepath.Join(t.TempDir(), "state"))
			run := func(to ...string) liveSummary {
				r := startLive(t, args...)
				for _, name := range to {
					clitest.SendTo(t, name, clitest.Frame{ID: uint16(name[len(name)-1]), TTL: 64})
				}
				return r.finish()
			}
			if s := run("right1", "right2"); s.PacketsIn != 2 || s.Duplicates != 0 {
				t.Fatalf("the first run: %+v", s)
			}
			// Each comes where it has come before.
			if s := run("right2", "right1"); s.PacketsIn != 4 || s.Duplicates != 0 {
				t.Errorf("in another order: %+v", s)
			}
			clitest.IP(t, "link del left2")
			clitest.Pair(t, "left2", "right2")
			if s := run("right2", "right1"); s.PacketsIn != 6 || s.Duplicates != 0 {
				t.Errorf("with another index: %+v", s)
			}
			r := startLive(t, args...)
			clitest.SendTo(t, "right1", clitest.Frame{ID: '2', TTL: 64})
			if s := r.finish(); s.PacketsIn != 7 || s.Duplicates != 1 {
				t.Errorf("at another interface: %+v", s)
			}
		})
	}
}

// TestLiveAcrossRefusesOthers checks that a run with other interfaces, or the same in
// another order, is not resumed: the filter knows them by number.
func TestLiveAcrossRefusesOthers(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	state := filepath.Join(t.TempDir(), "state")
	endsAs(t, "--across --duration 1ms -q --memory 1MiB --state "+state, []refusal{
		{"-i left -i right", cli.ExitDone, ""},
		{"-i left -i right", cli.ExitDone, ""},
		{"-i right -i left", cli.ExitUsage, "it was saved with -i left, right, and this run has right, left; "},
		{"-i left", cli.ExitUsage, "it was saved with -i left, right, and this run has left; "},
		{"-i any", cli.ExitUsage, "it was saved with -i left, right, and this run has any; "},
	})
}

// sighting is a packet as one interface saw it, parsed independently of the code under
// test.
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

// newSighting parses a frame of Ethernet or with a cooked header.
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

// acrossRun is a live run with --across and files for kept and removed packets.
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
	return append(args, "--across", "--window", "1m", "--memory", "1MiB", "--ring-size", "64MiB", "--block-timeout", "100ms", "--json")
}

// checkCopies compares both files with the summary: each removed packet is a copy of a
// kept one, and no kept packet is a copy of another.
func (r *acrossRun) checkCopies(s *liveSummary, isCopy func(kept, removed *sighting) bool) {
	t := r.T
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

// vlanEnds are servers behind a trunk, the first one without a tag.
var vlanEnds = []string{"10.0.0.2:7", "10.1.0.2:7", "[fd00:1::2]:7"}

// trunk connects this host with another one by an interface of that name, over which
// both have a VLAN, here called access.
func trunk(t *testing.T, tags []benchlab.Tag) {
	t.Helper()
	clitest.Lab(t)
	h := newHost(t)
	h.plug("trunk", "eth0")
	ends := func(parent, vlan, last string) {
		if err := benchlab.VLAN(parent, vlan, tags...); err != nil {
			t.Skip(err)
		}
		assign(t, parent, "10.0.0."+last+"/24")
		assign(t, vlan, "10.1.0."+last+"/24", "fd00:1::"+last+"/64")
	}
	ends("trunk", "access", "1")
	h.at(func() { ends("eth0", "eth0v", "2") })
	for _, address := range vlanEnds {
		h.serve(address)
	}
}

// TestLiveVLAN captures a trunk and one of its VLANs at the same time. Packets of the
// VLAN appear with and without tags, all others once.
func TestLiveVLAN(t *testing.T) {
	t.Parallel()
	q, ad := benchlab.Tag{Type: benchlab.Dot1Q, VLAN: 100}, benchlab.Tag{Type: benchlab.Dot1AD, VLAN: 200}
	for _, c := range []struct {
		name       string
		tags       []benchlab.Tag
		interfaces []string
	}{
		{"802.1Q", []benchlab.Tag{q}, []string{"trunk", "access"}},
		{"802.1ad", []benchlab.Tag{ad}, []string{"access", "trunk"}},
		{"802.1Q in 802.1ad", []benchlab.Tag{ad, q}, []string{"trunk", "access"}},
		{"802.1Q, any", []benchlab.Tag{q}, []string{"any"}},
		{"802.1Q in 802.1ad, any", []benchlab.Tag{ad, q}, []string{"any"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trunk(t, c.tags)
			r, inPlace := startAcross(t, c.interfaces), startInPlace(t, c.interfaces)
			const n = 100 // equal datagrams, each way
			for _, address := range vlanEnds {
				echo(t, "udp", address, slices.Repeat([]int{80}, n)...)
				echo(t, "tcp", address, slices.Repeat([]int{100}, n)...)
			}
			s, other := r.finish(), inPlace.finish()
			if s.Duplicates < 8*n || s.dropped() != 0 || other.Duplicates < 8*n || other.dropped() != 0 {
				t.Errorf("%+v; in place %+v", s, other)
			}
			if c.interfaces[0] == "any" {
				// Where a VLAN is a pair of interfaces, both ends see packets without a
				// tag.
				if s.Reasons["vlan"] == 0 {
					t.Errorf("reasons %v", s.Reasons)
				}
				delete(s.Reasons, "vlan")
				s.differ(t, "interface")
			} else {
				s.differ(t, "interface", "vlan")
			}
			r.checkCopies(&s, func(kept, removed *sighting) bool {
				return kept.at != removed.at && kept.hops == removed.hops && kept.addresses == removed.addresses
			})
		})
	}
}
