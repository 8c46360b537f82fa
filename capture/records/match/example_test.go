// SPDX-License-Identifier: Apache-2.0

package match_test

import (
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/relay"
)

// Two routers report the same flows. The second message has only copies, so nothing of it is left
// for a collector.
func Example() {
	// src is any capture.Source: a capture file, or a socket.
	src := &exporttest.Wire{Datagrams: []exporttest.Datagram{
		{From: "192.0.2.1:2055", At: 1700000000e9, Data: exporttest.V5(5000, 1700000000, 0, 1, exporttest.Flows...)},
		{From: "192.0.2.2:2055", At: 1700000001e9, Data: exporttest.V5(5000, 1700000000, 0, 1, exporttest.Flows...)},
	}}
	reader, cutter := export.NewReader(src), relay.NewCutter()
	judge, err := match.New(match.Config{Memory: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer judge.Close()
	for batch := new(records.Batch); ; {
		if err := reader.ReadBatch(batch); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		verdicts, _ := judge.Judge(batch)
		rest := cutter.Cut(nil, batch, verdicts)
		fmt.Printf("%v: %d records, %d of %d bytes left\n", batch.From.Addr(), len(batch.Records), len(rest), len(batch.Raw))
	}
	fmt.Println(judge.Counts().Copies, "copies")
	// Output:
	// 192.0.2.1: 3 records, 168 of 168 bytes left
	// 192.0.2.2: 3 records, 0 of 168 bytes left
	// 3 copies
}
