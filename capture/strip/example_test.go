// SPDX-License-Identifier: Apache-2.0

package strip_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/strip"
)

// A capture at both sides of a router, one of them tagged, is written without tags.
func Example() {
	src, err := pcapfile.Open("../../testdata/pcaps/router-vlan.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	stripper := strip.New(strip.Config{Headers: strip.VLAN})
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{}) // with Tunnel: Derived is set
	var b capture.Batch
	for {
		err := src.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		var drop []uint64 // packets that are left out stay as they were
		if err := w.Write(stripper.Strip(&b, drop), drop); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	stats := stripper.Stats()
	fmt.Println(w.Written(), "packets,", stats.Stripped, "of them without their tags,", stats.Left, "left as they were")
	// Output: 1188 packets, 594 of them without their tags, 0 left as they were
}
