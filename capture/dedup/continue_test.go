// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"context"
	"testing"

	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
)

// TestContinueIntact goes on with the counts of packets that were kept in the place of others.
func TestContinueIntact(t *testing.T) {
	preferred := func(before dedup.Counts) dedup.Counts {
		src, err := pcapfile.Open("../../testdata/pcaps/mirror-vxlan.pcap", pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := pipeline.New(src)
		defer p.Close()
		d := detector(t, dedup.Config{Identity: identity.Config{Kind: identity.Inner, Ignore: identity.IgnoreAlso(identity.L4Checksum)}, Hold: hold.Config{Intact: true}})
		d.Continue(before)
		if err := p.Run(context.Background(), 1, d.Tasks(&kept{})); err != nil {
			t.Fatal(err)
		}
		return d.Counts()
	}
	fresh := preferred(dedup.Counts{})
	if got := preferred(dedup.Counts{Whole: 100, Checksum: 1000}); fresh.Checksum-1 >= 1000 || got.Whole != 100+fresh.Whole || got.Checksum != 1000+fresh.Checksum {
		t.Errorf("%d whole and %d with a right checksum, want %d and %d more than 100 and 1000", got.Whole, got.Checksum, fresh.Whole, fresh.Checksum)
	}
}
