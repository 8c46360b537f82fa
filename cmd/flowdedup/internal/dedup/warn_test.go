// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// TestDigestNoticed checks that --digest highway is suggested only where it takes less time, to runs
// that may choose it and take long enough.
func TestDigestNoticed(t *testing.T) {
	for _, c := range []struct {
		faster    bool
		digest    string
		unchecked *uint64
		packets   uint64
		want      bool
	}{
		{true, "aes", nil, manyPackets, true},
		{false, "aes", nil, manyPackets, false},
		{true, "highway", nil, manyPackets, false},
		{true, "aes", new(uint64), manyPackets, false},
		{true, "aes", nil, manyPackets - 1, false},
	} {
		s := &Summary{Digest: c.digest, Unchecked: c.unchecked}
		s.PacketsIn = c.packets
		var errs strings.Builder
		noticeDigest(&cli.Env{Stderr: &errs}, s, c.faster)
		if got := strings.Contains(errs.String(), "noticed: this CPU has no AES instructions; --digest highway takes less time\n"); got != c.want {
			t.Errorf("%+v: %q", c, errs.String())
		}
	}
}
