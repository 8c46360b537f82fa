// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compare"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// packets is a compare.Source that reads a capture.
type packets struct {
	prepare *compare.Preparer
	source  capture.Source
}

func (p *packets) Next() *compare.Batch {
	var b capture.Batch
	if err := p.source.Next(&b); err != nil {
		if !errors.Is(err, io.EOF) {
			log.Print(err)
		}
		return nil
	}
	to := new(compare.Batch)
	p.prepare.Prepare(&b)
	p.prepare.Take(to, &b)
	return to
}

func (p *packets) Release(*compare.Batch) {}

// A program counts the packets that both sides of a router have.
func Example() {
	c, err := compare.New(compare.Config{})
	if err != nil {
		log.Fatal(err)
	}
	var sides [2]*packets
	for i, name := range []string{"router-in.pcap", "router-out.pcap"} {
		src, err := pcapfile.Open("../../testdata/pcaps/"+name, pcapfile.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer src.Close()
		sides[i] = &packets{c.NewPreparer(i), src}
	}
	if _, err := c.Search(sides[0], sides[1]); err != nil {
		log.Fatal(err)
	}
	if err := c.Run(nil); err != nil {
		log.Fatal(err)
	}
	r := c.Report(1)
	fmt.Println(r.Both, r.OnlyA, r.OnlyB, r.Conversations[0].Name)
	// Output:
	// 308 18 6 icmpv6 fd00:10::1 <> fd00:10::2
}
