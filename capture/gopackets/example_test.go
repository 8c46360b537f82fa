// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// A program of gopacket that counts DNS packets. The call of Once is all that is new.
func ExampleOnce() {
	file, err := os.Open("../../testdata/pcaps/router-plain.pcapng")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	handle, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		log.Fatal(err)
	}
	packets := gopacket.NewPacketSource(gopackets.Once(handle, gopackets.Config{}), handle.LinkType())
	all, dns := 0, 0
	for packet := range packets.Packets() {
		all++
		if packet.Layer(layers.LayerTypeDNS) != nil {
			dns++
		}
	}
	fmt.Println(all, "packets,", dns, "of DNS")
	// Output: 319 packets, 16 of DNS
}

// A handle as the source of a pipeline that writes a pcapng file.
func ExampleNewSource() {
	file, err := os.Open("../../testdata/pcaps/loopback-twice.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	handle, err := pcapgo.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{})
	packets := pipeline.New(gopackets.NewSource(handle, gopackets.SourceConfig{Name: file.Name()}))
	defer packets.Close()
	if err := packets.Run(context.Background(), 2, detector.Tasks(w)); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Written(), "packets")
	// Output: 78 packets
}
