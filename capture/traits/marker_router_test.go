// SPDX-License-Identifier: Apache-2.0

package traits_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/traits"
)

const pcaps = "../../testdata/pcaps/"

// markCaptures writes all packets of captures to w, and marks the copies.
func markCaptures(w capture.Writer, chunk int, names ...string) error {
	var sources []capture.Source
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{ChunkSize: chunk})
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	src := pcapfile.Merge(sources, nil)
	defer src.Close()
	detector, err := dedup.New(dedup.Config{Across: len(names) > 1})
	if err != nil {
		return err
	}
	defer detector.Close()
	packets := detector.NewBatchDetector()
	marker := traits.NewMarker(traits.MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{}), Inputs: names})
	var b capture.Batch
	for src.Next(&b) == nil {
		packets.Prepare(&b)
		drop := packets.Judge(&b)
		if err := w.Write(marker.Mark(&b, packets.Digests(), drop, nil, nil)); err != nil {
			return err
		}
	}
	return w.Close()
}

// marked is a packet of a marked file.
type marked struct {
	data    string
	comment string
}

// readMarked reads a little-endian section without help of this project.
func readMarked(t *testing.T, file []byte) (all []marked) {
	t.Helper()
	le := binary.LittleEndian
	for len(file) > 0 {
		n := le.Uint32(file[4:])
		block := file[:n]
		file = file[n:]
		if le.Uint32(block) != 6 {
			continue
		}
		size := le.Uint32(block[20:])
		p := marked{data: string(block[28:][:size])}
		for options := block[28+(size+3)&^3 : n-4]; len(options) >= 4 && le.Uint16(options) != 0; {
			value := options[4:][:le.Uint16(options[2:])]
			if le.Uint16(options) == 1 {
				p.comment += string(value)
			}
			options = options[4+(len(value)+3)&^3:]
		}
		all = append(all, p)
	}
	return all
}

// datagram returns the part that is equal in all copies of a frame.
func datagram(data string) string {
	p := gopacket.NewPacket([]byte(data), layers.LayerTypeEthernet, gopacket.NoCopy)
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		return fmt.Sprintf("%v %v %d %d %d %x", ip.SrcIP, ip.DstIP, ip.Protocol, ip.Id, ip.FragOffset, ip.Payload)
	case *layers.IPv6:
		return fmt.Sprintf("%v %v %d %d %x", ip.SrcIP, ip.DstIP, ip.NextHeader, ip.FlowLabel, ip.Payload)
	}
	if arp := p.Layer(layers.LayerTypeARP); arp != nil {
		return string(arp.LayerContents())
	}
	return data
}

// TestRouter marks captures whose copies are known.
func TestRouter(t *testing.T) {
	for _, name := range []string{"router-vlan", "router-qinq", "router-plain", "router-snap96", "router-across"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(pcaps + name + ".truth.json")
			if err != nil {
				t.Fatal(err)
			}
			var truth struct {
				Files   []string
				Packets int
				Removed []int
			}
			if err := json.Unmarshal(text, &truth); err != nil {
				t.Fatal(err)
			}
			for i := range truth.Files {
				truth.Files[i] = pcaps + truth.Files[i]
			}
			var file []byte
			for _, chunk := range []int{1 << 20, 1 << 10} {
				var out bytes.Buffer
				if err := markCaptures(pcapfile.NewWriter(&out, pcapfile.WriterOptions{Merged: true, Commented: true}), chunk, truth.Files...); err != nil {
					t.Fatal(err)
				}
				if file != nil && !bytes.Equal(file, out.Bytes()) {
					t.Error("the output depends on the batches")
				}
				file = out.Bytes()
			}
			all := readMarked(t, file)
			if len(all) != truth.Packets {
				t.Fatalf("%d packets, want %d", len(all), truth.Packets)
			}
			checkMarks(t, all, truth.Removed)
			checkTshark(t, file, all)
		})
	}
}

// checkMarks checks that the packets in removed have comments, each naming an equal packet
// that has none, and that no others have one.
func checkMarks(t *testing.T, all []marked, removed []int) {
	t.Helper()
	var commented []int
	for i, p := range all {
		if p.comment == "" {
			continue
		}
		commented = append(commented, i)
		var of int
		if _, err := fmt.Sscanf(p.comment, "copy of packet %d, ", &of); err != nil {
			t.Fatalf("packet %d: %q: %v", i+1, p.comment, err)
		}
		if of < 1 || of > i || all[of-1].comment != "" || datagram(all[of-1].data) != datagram(p.data) {
			t.Errorf("packet %d: %q, but the packets differ or that is a copy too", i+1, p.comment)
		}
		if identical := strings.HasSuffix(p.comment, "identical"); identical && all[of-1].data != p.data {
			t.Errorf("packet %d: %q, but they differ", i+1, p.comment)
		}
	}
	if !slices.Equal(commented, removed) {
		t.Errorf("%d packets have comments, want %d", len(commented), len(removed))
	}
}

// checkTshark checks the numbers and comments that Wireshark shows.
func checkTshark(t *testing.T, file []byte, all []marked) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		return
	}
	name := filepath.Join(t.TempDir(), "marked.pcapng")
	if err := os.WriteFile(name, file, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tshark, "-n", "-r", name, "-T", "fields", "-e", "frame.number", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i, p := range all {
		want.WriteString(strconv.Itoa(i+1) + "\t" + p.comment + "\n")
	}
	if string(out) != want.String() {
		t.Errorf("tshark shows %.300q, want %.300q", out, want.String())
	}
}

// TestTsharkNumbers marks every second packet of a capture with blocks that Wireshark shows
// among the packets. Each comment names the packet before, by the number that Wireshark
// shows.
func TestTsharkNumbers(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("no tshark here")
	}
	src, err := pcapfile.NewReader(bytes.NewReader(capturetest.NG(binary.LittleEndian, 20).Bytes()), "all kinds", pcapfile.Options{ChunkSize: 512})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Commented: true})
	marker := traits.NewMarker(traits.MarkerConfig{Decoder: headers.NewDecoder(headers.DecoderConfig{})})
	n := uint64(0)
	var b capture.Batch
	for src.Next(&b) == nil {
		digests, drop := make([]digest.Digest, len(b.Frames)), make([]uint64, len(b.Frames)/64+1)
		for i := range b.Frames {
			digests[i][0] = n / 2
			drop[i/64] |= n % 2 << (i % 64)
			n++
		}
		if err := w.Write(marker.Mark(&b, digests, drop, nil, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tshark, "-n", "-r", "-", "-T", "fields", "-e", "frame.number", "-e", "frame.encap_type", "-e", "frame.comment")
	cmd.Stdin = &out
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	before, marks := "", 0
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[1] != "1" {
			continue // a block that is no packet
		}
		if _, comment, ok := strings.Cut(line, "copy of packet "); ok {
			marks++
			if of, _, _ := strings.Cut(comment, ","); of != before {
				t.Errorf("packet %s is a copy of packet %s, want %s", fields[0], of, before)
			}
		}
		before = fields[0]
	}
	if marks != int(n/2) {
		t.Errorf("%d comments, want %d", marks, n/2)
	}
}
