// SPDX-License-Identifier: Apache-2.0

package strip

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// manyTunnels is a capture of packets in and out of tunnels, from two interfaces.
func manyTunnels() []byte {
	r := rand.New(rand.NewPCG(1, 1))
	g := &capturetest.File{Order: binary.BigEndian}
	g.Section(encoding.UnknownLength)
	names := []string{"eth0", "eth1"}
	for _, name := range names {
		g.Interface(1, 65535, g.Option(encoding.OptName, []byte(name)), g.Option(encoding.OptTSResol, []byte{0x94}), g.Option64(encoding.OptTSOffset, 77), g.End())
	}
	for i := range 3000 {
		id := uint32(r.IntN(2))
		vni := binary.BigEndian.AppendUint32(nil, uint32(r.IntN(40))<<8)
		data := [][]byte{
			ether(t4, ip4(17, udp(4789, "\x08\x00\x00\x00", vni, ether(c10, t4, four)))),
			ether(t4, ip4(47, "\x20\x00", t4, vni, four)),
			ether(c10, t4, four),
		}[r.IntN(3)]
		switch {
		case i%9 == 8 && id == 0:
			g.Simple(data)
		case i%9 == 7:
			g.Obsolete(uint16(id), 1, uint64(i)<<20, data, uint32(len(data)))
		default:
			g.Enhanced(id, uint64(i)<<20, data, uint32(len(data)))
		}
	}
	return g.Bytes()
}

// each strips a capture and gives each batch to a writer.
func each(t *testing.T, file []byte, chunk int, w capture.Writer) {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(file), "in", pcapfile.Options{ChunkSize: chunk})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Headers: all})
	if err := capturetest.Each(t, src, func(b *capture.Batch) {
		if err := w.Write(s.Strip(b, nil), nil); err != nil {
			t.Fatal(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBatches checks that outputs do not depend on where batches end, that the files of a
// rotation hold the same packets, and that none is too long.
func TestBatches(t *testing.T) {
	const limit = 20_000
	file := manyTunnels()
	var first []byte
	var firstFiles [][]byte
	for _, chunk := range []int{0, 4096, 9999, 100_000} {
		var out bytes.Buffer
		each(t, file, chunk, pcapfile.NewWriter(&out, pcapfile.WriterOptions{Derived: true}))
		src, err := pcapfile.NewReader(bytes.NewReader(out.Bytes()), "", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole := capturetest.PacketsOf(t, src)

		dir := t.TempDir()
		opt := rotate.Options{Size: limit, Derived: true}
		opt.Output.NoSync = true
		w, err := rotate.New(filepath.Join(dir, "out.pcapng"), opt)
		if err != nil {
			t.Fatal(err)
		}
		each(t, file, chunk, w)
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "out*")) // and not the record of these files
		if err != nil || len(names) < 5 {
			t.Fatalf("%d files, %v", len(names), err)
		}
		var files [][]byte
		var packets []capturetest.Packet
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > limit {
				t.Errorf("%s has %d bytes", name, len(data))
			}
			src, err := pcapfile.NewReader(bytes.NewReader(data), name, pcapfile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
			packets = append(packets, capturetest.PacketsOf(t, src)...)
		}
		if len(whole) != 3000 || !slices.Equal(packets, whole) {
			t.Fatalf("%d packets in files, %d in one", len(packets), len(whole))
		}
		if first == nil {
			first, firstFiles = out.Bytes(), files
		}
		if !bytes.Equal(first, out.Bytes()) || !slices.EqualFunc(files, firstFiles, bytes.Equal) {
			t.Errorf("chunks of %d bytes change the output", chunk)
		}
	}
	readByGopacket(t, first)
}

// TestTimes checks that packets of tunnels keep the clock of their interface.
func TestTimes(t *testing.T) {
	file := manyTunnels()
	src, err := pcapfile.NewReader(bytes.NewReader(file), "", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := capturetest.PacketsOf(t, src)
	if src, err = pcapfile.NewReader(bytes.NewReader(stripFile(t, all, file)), "", pcapfile.Options{}); err != nil {
		t.Fatal(err)
	}
	for i, p := range capturetest.PacketsOf(t, src) {
		if want := before[i].Time; want != capture.NoTime && p.Time != want || p.Ticks != before[i].Ticks {
			t.Fatalf("packet %d: time %d, want %d", i, p.Time, want)
		}
	}
}
