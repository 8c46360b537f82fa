// SPDX-License-Identifier: Apache-2.0

package pcapfile_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// A little-endian pcap file of three packets.
var threePackets = []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00" +
	"\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00one" +
	"\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00two" +
	"\x03\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x05\x00\x00\x00three")

// Every second packet of a capture is left out; pcapfile.Open reads a file by its name.
func Example() {
	src, err := pcapfile.NewReader(bytes.NewReader(threePackets), "three.pcap", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{})
	var b capture.Batch
	packets := 0
	for {
		err := src.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		drop := make([]uint64, (len(b.Frames)+63)/64)
		for i := range b.Frames {
			packets++
			if packets%2 == 0 {
				drop[i/64] |= 1 << (i % 64)
				continue
			}
			fmt.Printf("%d s: %s\n", b.Frames[i].Time/1e9, b.Data(i))
		}
		if err := w.Write(&b, drop); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Written(), "packets,", out.Len(), "bytes")
	// Output:
	// 1 s: one
	// 3 s: three
	// 2 packets, 64 bytes
}
