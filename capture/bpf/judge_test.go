// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// expressions ask for what man 7 pcap-filter knows of, and most people use.
var expressions = strings.Split(strings.TrimSpace(`
ip
ip6
arp
rarp
tcp
udp
icmp
icmp6
igmp
sctp
not ip
ip or ip6
not (tcp or udp)
tcp port 80
udp port 53
port 53
port 80 or port 443
src port 53
dst port 53
tcp src port 80
tcp dst portrange 1-1023
portrange 5000-6000
not port 22
ip and not port 22 and not port 53
host 10.0.0.1
src host 192.168.1.2
dst host 224.0.0.1
host 10.9.0.2 or host 10.9.0.3
host fe80::1
ip6 and host ff02::1
net 10
net 10.0.0.0/8
src net 192.168.0.0/16
dst net 172.16.0.0/12
net 2001:db8::/32
ip6 net fe80::/10
src net 10.0.0.0 mask 255.0.0.0
ether host 00:00:00:00:00:01
ether src 02:00:00:00:00:01
ether dst ff:ff:ff:ff:ff:ff
ether broadcast
ether multicast
broadcast or multicast
ip multicast
ip6 multicast
ip broadcast
ether proto 0x0800
ether proto \arp
ether[0] & 1 = 0 and ip[16] >= 224
vlan
vlan 10
vlan 10 and tcp
vlan and vlan
vlan and ip
vlan and host 10.0.0.1
not vlan
mpls
mpls 1024
mpls and mpls and ip
pppoes
pppoes and ip
pppoed
geneve
geneve and ip
llc
llc u
llc s
stp
isis
ipx
atalk
less 64
greater 1000
len > 100
len - 14 < 46
len % 2 = 1
ip proto 6
ip proto \udp
ip6 proto 17
ip protochain 6
ip6 protochain 17
ip6 protochain 58 and ip6[6] = 0
proto \sctp
ip[0] & 0xf != 5
ip[8] < 5
ip[6:2] & 0x1fff = 0
ip[6:2] & 0x3fff != 0
(ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2) != 0
tcp[tcpflags] & (tcp-syn|tcp-fin) != 0
tcp[tcpflags] == tcp-syn
tcp[13] & 4 != 0 and not src port 80
tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420
udp[4:2] > 100
udp[8:4] = 0
udp[10] & 0x80 = 0
icmp[icmptype] = icmp-echo
icmp[0] = 8 or icmp[0] = 0
icmp6[icmp6type] = icmp6-neighborsolicit
ip6[6] = 17
ip6[40:2] = 53
ip6 and tcp port 443
tcp and greater 200 and not host 10.0.0.1
gateway 10.0.0.1
wlan type mgt
wlan type data
wlan subtype beacon
wlan host 00:00:00:00:00:01
link[0] = 4
link[2:2] / 2 > 5
link[1] * 3 = 9 or link[0] ^ 255 > 250
link[4:4] >> 3 = 7 or link[8] << 2 = 32
link[0:1] % 7 = 3
inbound
ifname eth0
1 = 1
`), "\n")

// TestJudge compares the verdict on each frame of many captures with tcpdump's.
func TestJudge(t *testing.T) {
	needCompiler(t)
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip(err)
	}
	all := framesByLink(t)
	const least = 20 // frames that are worth the time
	for link, frames := range all {
		if len(frames) < least || testing.Short() && link != capture.LinkEthernet {
			continue
		}
		t.Run(link.String(), func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "frames.pcap")
			if err := os.WriteFile(name, fileOf(link, frames), 0o600); err != nil {
				t.Fatal(err)
			}
			matching := 0
			for _, expr := range expressions {
				got, refused := ourMatches(t, expr, link, frames)
				want, complaint := theirMatches(t, path, expr, name)
				if refused != (complaint != "") || !slices.Equal(got, want) {
					t.Errorf("%q: frames %v, tcpdump %v %s", expr, got, want, complaint)
				}
				matching += len(got)
			}
			t.Logf("%d frames, %d matches", len(frames), matching)
		})
	}
}

// ourMatches returns the numbers of the frames that match, or that the expression is
// refused for the link type.
func ourMatches(t *testing.T, expr string, link capture.LinkType, frames []sample) (numbers []int, refused bool) {
	t.Helper()
	program, err := compile(context.Background(), expr, link, judgeSnapLen, "")
	if errors.Is(err, ErrExpression) {
		return nil, true
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMachine(program)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if m.Run(f.data, f.wireLen) != 0 {
			numbers = append(numbers, i)
		}
	}
	return numbers, false
}

// theirMatches returns the numbers of the frames in a file that tcpdump copies, or
// what it complains of.
func theirMatches(t *testing.T, path, expr, name string) (numbers []int, complaint string) {
	t.Helper()
	var errs strings.Builder
	cmd := exec.Command(path, "-r", name, "-w", "-", "--", expr)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, errs.String()
	}
	for out = out[24:]; len(out) > 0; {
		numbers = append(numbers, int(binary.LittleEndian.Uint32(out)))
		out = out[16+binary.LittleEndian.Uint32(out[8:]):]
	}
	return numbers, ""
}

// judgeSnapLen is the most that libpcap takes of frames of most link types.
const judgeSnapLen = 262144

// sample is a frame of some capture.
type sample struct {
	data    []byte
	wireLen uint32
}

// framesByLink gathers the first frames of every capture that there is.
func framesByLink(t *testing.T) map[capture.LinkType][]sample {
	const most = 1500 // frames of a capture
	names := captures(t, filepath.Join("..", "..", "testdata", "pcaps"))
	if dir := os.Getenv("FLOWDEDUP_SHARED"); dir != "" {
		names = append(names, captures(t, dir)...)
	}
	all := map[capture.LinkType][]sample{}
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			continue
		}
		var b capture.Batch
		for n := 0; n < most && src.Next(&b) == nil; n += len(b.Frames) {
			for i, f := range b.Frames[:min(len(b.Frames), most-n)] {
				link := b.Interfaces[f.Interface].LinkType
				if f.CapLen <= judgeSnapLen {
					all[link] = append(all[link], sample{bytes.Clone(b.Data(i)), f.WireLen})
				}
			}
		}
		src.Close()
	}
	return all
}

// captures returns the files in a folder and below that may be captures.
func captures(t *testing.T, dir string) []string {
	var names []string
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(name, ".pcap") && !strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fileOf makes a pcap file whose timestamps number the frames.
func fileOf(link capture.LinkType, frames []sample) []byte {
	file := fileHeader(link, judgeSnapLen)
	for i, f := range frames {
		for _, v := range []uint32{uint32(i), 0, uint32(len(f.data)), f.wireLen} {
			file = binary.LittleEndian.AppendUint32(file, v)
		}
		file = append(file, f.data...)
	}
	return file
}
