// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// vlansOf returns the VLAN stack of a frame of the model.
func vlansOf(p *clitest.Seen) string {
	var words []string
	for i := range clitest.TagsOf([]byte(p.Data)) {
		words = append(words, fmt.Sprint(binary.BigEndian.Uint16([]byte(p.Data)[14+4*i:])&0xfff))
	}
	return strings.Join(words, ".")
}

// groups are fields of --within and what they mean for the frames of the model.
var groups = map[string]func(*clitest.Seen) string{
	"vlan":       vlansOf,
	"interface":  func(p *clitest.Seen) string { return fmt.Sprint(p.Iface) },
	"input":      func(*clitest.Seen) string { return "" },
	"lan":        pathOf,
	"vlan:10+11": func(p *clitest.Seen) string { return strings.ReplaceAll(vlansOf(p), "11", "10") },
	"interface,vlan:11+0,10+12": func(p *clitest.Seen) string {
		return fmt.Sprint(p.Iface, strings.ReplaceAll(strings.ReplaceAll(vlansOf(p), "11", ""), "12", "10"))
	},
	"vlan,interface": func(p *clitest.Seen) string { return fmt.Sprint(p.Iface, " ", vlansOf(p)) },
}

// TestWithinModel compares --within with the model. For --within input, an input comes before the
// stream.
func TestWithinModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for within, group := range groups {
		for range clitest.Sample(4, make([]int, 12)) {
			m := dedupModel{identity: []string{"l3", "frame"}[rng.IntN(2)], ignore: "vlan", group: group, flags: []string{"--within", within}}
			if m.across = rng.IntN(3) == 0 && !strings.Contains(within, "interface"); rng.IntN(2) == 0 {
				m.packets = 1 + rng.IntN(40)
			} else {
				m.duration = time.Duration(1+rng.IntN(1000)) * time.Microsecond
			}
			m.flags = append(m.flags, "--workers", fmt.Sprint(1+rng.IntN(3)))
			stream := clitest.RandomStream(rng, 300, 3, 100*time.Microsecond)
			name := clitest.WriteStream(t, stream, 3)
			if within == "input" { // only several have any
				m.flags = append(m.flags, "--no-merge", clitest.Bundled("router-out.pcap"))
				checkInputModel(t, &m, name, stream)
				continue
			}
			checkModel(t, &m, name, stream)
		}
	}
}

// TestWithinGroups has two tenants with equal conversations, each on a VLAN before a firewall and a
// VLAN behind it, where packets come sooner or later than before. All packets of a conversation are
// kept from the same VLAN.
func TestWithinGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	at := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC).UnixNano()
	var stream []clitest.Seen
	tag := func(frame []byte, vlan byte) string {
		return string(frame[:12]) + "\x81\x00\x00" + string(rune(vlan)) + string(frame[12:])
	}
	const packets = 300
	for i := range packets {
		frame := clitest.UDPFrame(uint8(rng.IntN(5)), uint8(i%60))
		for tenant := range byte(2) {
			vlans := []byte{10 + tenant, 110 + tenant}
			rng.Shuffle(2, func(i, k int) { vlans[i], vlans[k] = vlans[k], vlans[i] })
			for k, vlan := range vlans {
				data := tag(frame, vlan)
				stream = append(stream, clitest.Seen{Record: clitest.Record{Time: at + int64(i)*1e6 + int64(tenant)*1e5 + int64(k)*1e4, Wire: uint32(len(data)), Data: data}})
			}
		}
	}
	in := clitest.WriteStream(t, stream, 1)
	for _, workers := range []string{"1", "3"} {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		const within = "vlan:110+10,11+111"
		s := clitest.RunDedup(t, cli.ExitDone, in, "-w", out, "--within", within, "--workers", workers, "--window", "500us")
		if s.Duplicates != 2*packets {
			t.Errorf("%d copies, want %d", s.Duplicates, 2*packets)
		}
		if _, stderr, code := clitest.Run("verify", in, out, "--within", within, "--window", "500us"); code != cli.ExitDone {
			t.Error(stderr)
		}
		if _, _, code := clitest.Run("verify", in, out, "--within", "vlan", "--window", "500us"); code != cli.ExitDifferent {
			t.Errorf("copies of other VLANs are none: exit code %d", code)
		}
		homes := map[string]string{}
		for _, p := range clitest.ReadStream(t, out) {
			vlan := vlansOf(&p)
			conversation := vlan[len(vlan)-1:] + p.Data[18+12:18+28]
			if before, ok := homes[conversation]; ok && before != vlan {
				t.Fatalf("a conversation is kept from VLANs %s and %s", before, vlan)
			}
			homes[conversation] = vlan
		}
	}
}
