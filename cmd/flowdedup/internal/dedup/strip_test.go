// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// untagged returns a frame of Ethernet, or with a cooked header of version 2, without its VLAN
// tags.
func untagged(frame []byte, cooked bool) []byte {
	frame = bytes.Clone(frame)
	at, tag := 12, 14
	if cooked {
		at, tag = 0, 20
	}
	for typ := string(frame[at : at+2]); typ == "\x81\x00" || typ == "\x88\xa8"; typ = string(frame[at : at+2]) {
		copy(frame[at:], frame[tag+2:tag+4])
		frame = slices.Delete(frame, tag, tag+4)
	}
	return frame
}

// sameFiles reports whether two files have the same content.
func sameFiles(t *testing.T, one, other string) bool {
	t.Helper()
	a := clitest.ReadFile(t, one)
	b := clitest.ReadFile(t, other)
	return bytes.Equal(a, b)
}

// TestStripTags compares what --strip vlan writes with the output without it.
func TestStripTags(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"router-vlan.pcapng", "router-qinq.pcapng", "router-snap96.pcapng", "router-any-sll2.pcap", "router-plain.pcapng", "router-in.pcap"} {
		plain, stripped, ending := filepath.Join(dir, "plain-"+name), filepath.Join(dir, "stripped-"+name), filepath.Ext(name)
		args := []string{clitest.Bundled(name), "--window", "1ms"}
		clitest.RunDedup(t, cli.ExitDone, append(args, "-w", plain, "--duplicates", plain+".dup"+ending)...)
		clitest.RunDedup(t, cli.ExitDone, append(args, "-w", stripped, "--duplicates", stripped+".dup"+ending, "--strip", "vlan")...)
		want, got := clitest.PacketBytes(t, plain), clitest.PacketBytes(t, stripped)
		for i := range want {
			want[i] = untagged(want[i], strings.Contains(name, "sll2"))
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: other packets than without --strip", name)
		}
		if a, b := clitest.ReadAll(t, plain+".dup"+ending), clitest.ReadAll(t, stripped+".dup"+ending); !slices.Equal(a, b) {
			t.Errorf("%s: copies differ", name)
		}
		readByOthers(t, []string{stripped})
	}
}

// TestStripFlows counts flows as an analyzer does whose key has the VLAN.
func TestStripFlows(t *testing.T) {
	tshark := clitest.NeedTshark(t)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	clitest.RunDedup(t, cli.ExitDone, clitest.Bundled("router-vlan.pcapng"), "--strip", "vlan", "-w", out)
	two, one := flowsByVLAN(t, tshark, out)
	if two == 0 || one != 0 {
		t.Errorf("%d flows with two sides, %d with one", two, one)
	}
	if before, _ := flowsByVLAN(t, tshark, clitest.Bundled("router-vlan.pcapng")); before <= two {
		t.Errorf("%d flows in all VLANs, %d without", before, two)
	}
}

// flowsByVLAN counts TCP connections by VLAN and five-tuple.
func flowsByVLAN(t *testing.T, tshark, name string) (two, one int) {
	t.Helper()
	sides := map[string]map[string]bool{}
	for _, line := range clitest.FieldsOf(t, tshark, name, "vlan.id", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport") {
		f := strings.Split(line, "\t")
		if f[5] == "" {
			continue
		}
		from, to := f[1]+f[3]+" "+f[5], f[2]+f[4]+" "+f[6]
		key := f[0] + min(from, to) + max(from, to)
		if sides[key] == nil {
			sides[key] = map[string]bool{}
		}
		sides[key][from] = true
	}
	for _, s := range sides {
		if len(s) == 2 {
			two++
		} else {
			one++
		}
	}
	return two, one
}

// TestStripShared strips all shared captures, and has tcpdump read the output.
func TestStripShared(t *testing.T) {
	dir := clitest.SharedDir(t)
	files, names := clitest.SharedFiles(t, dir)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			input, code := filepath.Join(dir, name), clitest.ExitOf(files[name])
			if _, err := os.Stat(input); err != nil {
				t.Skip(err)
			}
			outs := t.TempDir()
			plain := filepath.Join(outs, "plain.pcapng")
			copies := filepath.Join(outs, "copies.pcapng")
			want := clitest.RunDedup(t, code, input, "-w", plain, "--duplicates", copies)
			if code != cli.ExitDone {
				return // no output, or an output with a name of its own
			}
			readable := tcpdumpReads(plain)
			for _, headers := range []string{"vlan,mpls,pppoe", "vlan,mpls,pppoe,tunnel"} {
				out := filepath.Join(outs, headers+".pcapng")
				got := clitest.RunDedup(t, code, input, "-w", out, "--strip", headers, "--duplicates", out+".copies.pcapng")
				if !sameFiles(t, copies, out+".copies.pcapng") {
					t.Errorf("--strip %s: other copies", headers)
				}
				if want.PacketsOut == 0 {
					continue
				}
				want := want
				if less := want.PacketsIn - got.PacketsIn; less > 0 {
					if got.Joined-got.Datagrams != less {
						t.Errorf("--strip %s: %d packets less for %+v", headers, less, got.Stats)
					}
					want.PacketsIn, want.PacketsOut, want.BytesIn = got.PacketsIn, want.PacketsOut-less, got.BytesIn
				}
				if !clitest.SameCounts(got, want) || uint64(len(clitest.PacketBytes(t, out))) != want.PacketsOut {
					t.Errorf("--strip %s: %+v, want %+v, and %d packets", headers, got, want, len(clitest.PacketBytes(t, out)))
				}
				if readable && plainCapture(out) && !tcpdumpReads(out) {
					t.Errorf("--strip %s: tcpdump does not read it", headers)
				}
			}
		})
	}
}

// tcpdumpReads reports whether tcpdump reads a capture to its end.
func tcpdumpReads(name string) bool {
	return exec.Command("tcpdump", "-nqr", name, "-w", os.DevNull).Run() == nil
}

// TestStripTunnels compares the rest of packets in tunnels with the innermost headers that
// tshark finds.
func TestStripTunnels(t *testing.T) {
	tshark, dir := clitest.NeedTshark(t), clitest.SharedDir(t)
	last := func(list string) string { return list[strings.LastIndex(list, ",")+1:] }
	for _, name := range []string{"suricatave__vxlan.pcap", "zeek__gre-within-gre.pcap", "largepcapa__ipv4_gtpu_fragmented.pcap", "zeek__pppoe-over-qinq.pcap", "pcappluspl__MplsPackets.pcap"} {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		got, errs, code := clitest.Run("dedup", filepath.Join(dir, name), "--window", "none", "--identity", "frame", "--strip", "vlan,mpls,pppoe,tunnel", "-w", out)
		if code != cli.ExitDone {
			t.Fatalf("%s: %s%s", name, got, errs)
		}
		fields := []string{"ip.src", "ip.dst", "ipv6.src", "ip.id", "tcp.seq_raw"}
		plain := filepath.Join(t.TempDir(), "plain.pcapng")
		clitest.RunDedup(t, cli.ExitDone, filepath.Join(dir, name), "--window", "none", "--identity", "frame", "-w", plain)
		before, after := clitest.FieldsOf(t, tshark, plain, append(fields, "ip.flags.mf")...), clitest.FieldsOf(t, tshark, out, fields...)
		// A datagram is at the place of the fragment that makes it whole, as tshark has it.
		before = slices.DeleteFunc(before, func(line string) bool { return strings.HasSuffix(line, "\t1") || strings.HasSuffix(line, "\tTrue") })
		if len(before) != len(after) {
			t.Fatalf("%s: %d packets, %d without headers", name, len(before), len(after))
		}
		for i := range before {
			old, left := strings.Split(before[i], "\t"), strings.Split(after[i], "\t")
			for k := range left {
				if last(old[k]) != last(left[k]) {
					t.Errorf("%s: packet %d: %s is %q, was %q", name, i, fields[k], left[k], old[k])
				}
			}
		}
	}
}

// TestStripPcap names a pcap file for what it cannot hold.
func TestStripPcap(t *testing.T) {
	dir := clitest.SharedDir(t)
	input := filepath.Join(dir, "largepcapa__ipv4_gtpu_fragmented.pcap")
	out := filepath.Join(t.TempDir(), "out.pcap")
	_, errs, code := clitest.Run("dedup", input, "--strip", "tunnel", "-w", out)
	if code != cli.ExitFailed || !strings.Contains(errs, "pcapng holds both") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestStripNames reads the names of interfaces of tunnels.
func TestStripNames(t *testing.T) {
	dir := clitest.SharedDir(t)
	out := filepath.Join(t.TempDir(), "out.pcapng")
	clitest.RunDedup(t, cli.ExitDone, filepath.Join(dir, "suricatave__vxlan.pcap"), "--strip", "tunnel", "-w", out)
	src, err := pcapfile.Open(out, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	names := map[string]bool{}
	for src.Next(&b) == nil {
		for i := range b.Frames {
			it := b.Interfaces[b.Frames[i].Interface]
			names[fmt.Sprint(it.Name, " ", it.LinkType)] = true
			for _, l := range headers.NewDecoder(headers.DecoderConfig{Inner: true}).Layers(nil, &b, i) {
				if l.Kind.Tunnel() {
					t.Fatalf("packet %d is in a tunnel", i)
				}
			}
		}
	}
	t.Log(names)
	for name := range names {
		if !strings.HasPrefix(name, "vxlan:") || !strings.HasSuffix(name, " ETHERNET") {
			t.Errorf("interface %q", name)
		}
	}
}
