// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/window"
)

// removeCopies writes each packet of a capture once to a new file, which appears
// under its name after a clean end only.
func removeCopies(ctx context.Context, in, out string) error {
	src, err := pcapfile.Open(in, pcapfile.Options{})
	if err != nil {
		return err
	}
	packets := pipeline.New(src)
	defer packets.Close()
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		return err
	}
	defer detector.Close()
	file, err := outfile.Create(ctx, out, outfile.Options{})
	if err != nil {
		return err
	}
	defer file.Discard() // does nothing after Commit
	w := pcapfile.NewWriter(file, pcapfile.WriterOptions{})
	if err := errors.Join(packets.Run(ctx, runtime.NumCPU(), detector.Tasks(w)), w.Close()); err != nil {
		return err
	}
	return file.Commit()
}

// A router sees each packet at two interfaces. The output has it once.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "clean.pcapng")
	if err := removeCopies(context.Background(), "../../testdata/pcaps/router-plain.pcapng", out); err != nil {
		log.Fatal(err)
	}
	fmt.Println(count(out), "of 612 packets stay")
	// Output: 319 of 612 packets stay
}

// A router sees each packet at two interfaces. With Flow all packets of a conversation
// are from the same interface.
func ExampleConfig_hold() {
	for _, flow := range []bool{false, true} {
		src, err := pcapfile.Open("../../testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
		if err != nil {
			log.Fatal(err)
		}
		packets := pipeline.New(src)
		detector, err := dedup.New(dedup.Config{Hold: hold.Config{Flow: flow}})
		if err != nil {
			log.Fatal(err)
		}
		var w interfaces
		if err := packets.Run(context.Background(), runtime.NumCPU(), detector.Tasks(&w)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.packets, "packets,", w.split(), "conversations of several interfaces")
		if err := errors.Join(packets.Close(), detector.Close()); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 319 packets, 28 conversations of several interfaces
	// 319 packets, 0 conversations of several interfaces
}

// interfaces is a writer that notes which interfaces the packets of conversations are from.
type interfaces struct {
	packets int
	from    map[uint64]map[uint32]bool
}

// Write is called while other batches are prepared and judged, but never twice at a time.
func (w *interfaces) Write(b *capture.Batch, drop []uint64) error {
	if w.from == nil {
		w.from = map[uint64]map[uint32]bool{}
	}
	seen := traits.NewSightingReader(traits.SightingConfig{}).Read(b, 0, len(b.Frames))
	for i, conversation := range seen.Conversation {
		if capture.IsSet(drop, i) {
			continue
		}
		w.packets++
		if conversation == 0 {
			continue // ARP
		}
		if w.from[conversation] == nil {
			w.from[conversation] = map[uint32]bool{}
		}
		w.from[conversation][b.Frames[i].Interface] = true
	}
	return nil
}

// split returns how many conversations have packets from several interfaces.
func (w *interfaces) split() (n int) {
	for _, from := range w.from {
		if len(from) > 1 {
			n++
		}
	}
	return n
}

// count returns how many packets a capture has.
func count(name string) (packets int) {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return countAll(src)
}

func countAll(src capture.Source) (packets int) {
	defer src.Close()
	var b capture.Batch
	for src.Next(&b) == nil {
		packets += len(b.Frames)
	}
	return packets
}

// Detector.Copies gives the verdict on each packet, batch by batch, without workers.
func ExampleDetector_Copies() {
	src, err := pcapfile.Open("../../testdata/pcaps/router-vlan.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	detector, err := dedup.New(dedup.Config{
		Window: window.Window{Duration: 5 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()

	copies := map[string]int{}
	var b capture.Batch
	for {
		if err := src.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		drop := detector.Copies(&b)
		for i := range b.Frames {
			if drop[i/64]>>(i%64)&1 != 0 {
				copies[b.Interfaces[b.Frames[i].Interface].Name]++
			}
		}
	}
	fmt.Println(copies)
	// Output: map[trunk0:37 trunk1:274 vlan10:281 vlan20:286]
}

// A program judges only what it is sure about, and passes all else.
func ExampleChooser() {
	large := func(chosen []uint64, b *capture.Batch, from, to int) {
		clear(chosen[:(to-from+63)/64])
		for i := from; i < to; i++ {
			if b.Frames[i].WireLen >= 4 {
				chosen[(i-from)/64] |= 1 << ((i - from) % 64)
			}
		}
	}
	detector, err := dedup.New(dedup.Config{Only: large})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i, text := range []string{"word", "one", "word", "one"} {
		b.Append(capture.Frame{Interface: at, Time: int64(i)}, []byte(text))
	}
	fmt.Printf("%04b", detector.Copies(&b)[0])
	// Output: 0100
}

// ticker is a source of a program's own: each of its packets comes twice. Its interface is
// in the first batch. All later batches know of it, whoever reads them.
type ticker struct {
	left       int
	interfaces []capture.Interface
	sections   []capture.Section
}

func (s *ticker) Next(b *capture.Batch) error {
	b.Reset()
	if s.left == 0 {
		return io.EOF
	}
	s.left--
	b.Interfaces, b.Sections = s.interfaces, s.sections
	if len(s.interfaces) == 0 {
		b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw, Name: "own"})
		s.interfaces, s.sections = b.Interfaces, b.Sections
	}
	packet := []byte("\x45\x00\x00\x1c\x00\x00\x40\x00\x40\x11\x00\x00\xc0\x00\x02\x01\xc6\x33\x64\x07\x0f\xa0\x00\x09\x00\x08\x00\x00")
	packet[5] = byte(s.left) // the ID of IP, which distinguishes packets
	at := time.Date(2026, 11, 22, 14, 0, 10-s.left, 0, time.UTC).UnixNano()
	b.Append(capture.Frame{Time: at}, packet)
	b.Append(capture.Frame{Time: at + 1000}, packet)
	return nil
}

func (s *ticker) Inputs() []string            { return []string{"ticker"} }
func (s *ticker) Offset() (done, total int64) { return 0, 0 }
func (s *ticker) Size() int64                 { return 0 }
func (s *ticker) Close() error                { return nil }

// A program's own source of packets goes through the same pipeline as a file.
func ExampleDetector_Tasks() {
	packets := pipeline.New(&ticker{left: 5})
	defer packets.Close()
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	var clean bytes.Buffer
	w := pcapfile.NewWriter(&clean, pcapfile.WriterOptions{})
	if err := errors.Join(packets.Run(context.Background(), 2, detector.Tasks(w)), w.Close()); err != nil {
		log.Fatal(err)
	}
	back, err := pcapfile.NewReader(&clean, "clean", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(countAll(back), "of 10 packets stay")
	// Output: 5 of 10 packets stay
}

// Each packet stays once a day, by the clock of an office an hour east of Greenwich.
func ExampleNew_landmark() {
	office := time.FixedZone("office", 60*60)
	d, err := dedup.New(dedup.Config{
		Window: window.Window{Duration: 24 * time.Hour, Landmark: true},
		Zone:   office,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for _, hour := range []int{9, 22, 24} {
		at := time.Date(2026, 5, 4, hour, 30, 0, 0, office)
		b.Append(capture.Frame{Time: at.UnixNano()}, []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5 a beacon"))
	}
	fmt.Printf("copies: %03b\n", d.Copies(&b)[0])
	// Output: copies: 010
}

// A packet is a copy only if the table has an equal packet, too. A table of 64 bytes has the last
// eight packets.
func ExampleConfig_verifyCopies() {
	d, err := dedup.New(dedup.Config{VerifyCopies: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i, name := range "aabcdefghijb" {
		b.Append(capture.Frame{Time: int64(i)}, []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\xb5 "+string(name)))
	}
	fmt.Printf("copies: %012b, unverified: %d\n", d.Copies(&b)[0], d.Stats().Unverified)
	// Output: copies: 000000000010, unverified: 1
}
