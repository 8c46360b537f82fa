// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Each packet stays once a day, by the clock of an office an hour east of Greenwich.
func ExampleNew_landmark() {
	office := time.FixedZone("office", 60*60)
	d, err := dedup.New(dedup.Config{
		Filter: window.TimedConfig{Window: window.Window{Duration: 24 * time.Hour, Landmark: true}},
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
