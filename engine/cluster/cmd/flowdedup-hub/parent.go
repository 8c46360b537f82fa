// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// applyParent applies the settings of the given hub above, which has chosen what all hubs
// of a tree compare, to the stored settings. It reports whether earlier tokens became
// invalid.
func (f *serveFlags) applyParent(s *hub.Settings) (invalid bool, err error) {
	if f.changed("parent") {
		if s.Parent = ""; f.parent != "" {
			token, err := hubclient.FindToken(f.parent)
			if err != nil {
				return false, usageError{fmt.Errorf("--parent: %w", err)}
			}
			invalid = s.SetParent(token)
		}
	}
	if s.Parent == "" {
		if f.changed("parent-wait") {
			return false, usageError{errors.New("--parent-wait needs --parent")}
		}
		if f.changed("dense") && f.settings.Dense {
			return false, usageError{errors.New("--dense needs --parent")}
		}
		s.ParentWaitUS, s.Dense = 0, false
		return invalid, nil
	}
	for _, name := range []string{"window", "identity", "ignore", "within", "tunnel"} {
		if f.changed(name) {
			return false, usageError{fmt.Errorf("--%s: it is the same in all of a tree, and comes with --parent: leave it out", name)}
		}
	}
	if f.changed("dense") {
		s.Dense = f.settings.Dense
	}
	if f.changed("parent-wait") || s.ParentWaitUS == 0 {
		s.ParentWaitUS = f.parentWait.Microseconds()
	}
	return invalid, nil
}

// applyBelow applies the settings of top-down testing.
func (f *serveFlags) applyBelow(s *hub.Settings) {
	if f.changed("below") {
		s.Below = nil
		if f.below != "" {
			s.Below = strings.Split(f.below, ",")
		} else if !f.changed("top-down") {
			s.TopDown = 0
		}
	}
	if f.changed("top-down") {
		s.TopDown = f.topDown
	}
}

// writeTopDown writes what hubs below have confirmed.
func writeTopDown(out io.Writer, t *hub.TopDownStatus) {
	if t == nil {
		return
	}
	fmt.Fprintf(out, "top-down to %d levels: hubs below were asked about %s copies, and did not confirm %s; %s without an answer\n",
		t.Levels, comma(t.Probed), comma(t.Unconfirmed), comma(t.Unanswered))
	if t.Mixed {
		fmt.Fprintln(out, "warning: a site asks that is not in --below: copies are not confirmed any more")
	}
}

// writeTree writes the state of a hub and the hub above it.
func writeTree(out io.Writer, t *hub.TreeStatus) {
	if t == nil {
		return
	}
	kind := "dense"
	if t.Sparse {
		kind = "sparse"
	}
	fmt.Fprintf(out, "%s tree, below %s as %s: %s digests, %s known here, %s known above, %s unchecked; %s accesses, answers p99 %v\n", kind, t.Parent, t.Site,
		comma(t.Digests), comma(t.Hits), comma(t.HitsAbove), comma(t.Unchecked), comma(t.Accesses), t.AnswerP99.Truncate(time.Microsecond))
	fmt.Fprintf(out, "a digest: %.4f messages and %.1f bits to the hub above (in theory %.4f and %.1f), %.2g false copies at this level\n",
		t.PerDigest, t.Bits, t.TheoryMsgs, t.TheoryBits, t.FPR)
	if t.Failure != "" {
		what := "pass"
		if t.Closed {
			what = "are copies"
		}
		fmt.Fprintf(out, "warning: the hub above does not answer (%s): packets that are new here %s, unchecked\n", t.Failure, what)
	}
}
