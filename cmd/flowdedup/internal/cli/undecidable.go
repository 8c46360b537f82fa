// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// warnUndecidable says what to do about packets that could not be judged.
func warnUndecidable(e *Env, s *dedup.Summary) {
	if s.Undecidable > 0 {
		e.Warn(fmt.Errorf("%d packets were captured in too small a part to tell copies from other packets of their flow, and stay: "+
			"capture more of each packet, or use --across where copies come from another interface or input", s.Undecidable))
	}
}
