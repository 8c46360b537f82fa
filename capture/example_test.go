// SPDX-License-Identifier: Apache-2.0

package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// A source gives batches; a batch says where its packets lie.
func ExampleSource() {
	src, err := pcapfile.Open("../testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	packets, octets := 0, 0
	var b capture.Batch
	for {
		if err := src.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err) // all that was sound before it has been delivered
		}
		packets += len(b.Frames)
		for i := range b.Frames {
			octets += len(b.Data(i))
		}
	}
	fmt.Println(packets, "packets,", octets, "bytes, from", len(b.Interfaces), "interfaces")
	// Output: 612 packets, 179730 bytes, from 2 interfaces
}

// Packets of a program's own go into a batch by hand.
func ExampleBatch_Append() {
	var b capture.Batch
	eth0 := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "eth0"})
	at := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for i, text := range []string{"one", "two", "three"} {
		frame := append([]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5"), text...)
		b.Append(capture.Frame{Time: at.Add(time.Duration(i) * time.Second).UnixNano(), Interface: eth0}, frame)
	}

	// Written as a file, less the packet whose bit is set, and read back.
	var file bytes.Buffer
	w := pcapfile.NewWriter(&file, pcapfile.WriterOptions{})
	if err := w.Write(&b, []uint64{1 << 1}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	src, err := pcapfile.NewReader(&file, "memory", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	if err := src.Next(&b); err != nil {
		log.Fatal(err)
	}
	for i := range b.Frames {
		fmt.Printf("%s %s\n", time.Unix(0, b.Frames[i].Time).UTC().Format(time.TimeOnly), b.Data(i)[14:])
	}
	// Output:
	// 14:00:00 one
	// 14:00:02 three
}
