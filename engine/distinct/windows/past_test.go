// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// TestResumePast forgets what has left the past by the time of Resume, and refuses a past of other steps.
func TestResumePast(t *testing.T) {
	const last = int64(100 * time.Hour)
	cfg := Config{Keys: hostAndFlow[1:], Past: time.Hour, Method: methodAuto, FPR: 1e-6}
	for _, r := range []struct {
		past     time.Duration
		now      int64
		distinct uint64
		err      error
	}{
		{time.Hour, last, 3, nil}, {time.Hour, last + 2*int64(time.Hour), 0, nil}, {2 * time.Hour, last, 0, snapshot.ErrInvalid},
	} {
		var file bytes.Buffer
		c := New(&cfg)
		b := c.NewBatch()
		b.Reset([]int64{last, last, last})
		copy(b.Elements(0).V4.Add(upTo(3), 0), []digest.Digest{{1 << 61}, {2 << 61}, {3 << 61}})
		err := c.Count(b, nil)
		saved, failed := c.Save(&file)
		resumed := cfg
		resumed.Past = r.past
		next := New(&resumed)
		if err = errors.Join(err, failed, c.Abandon()); err != nil {
			t.Fatal(err)
		}
		if err := next.Resume(&file, &saved, r.now); !errors.Is(err, r.err) {
			t.Errorf("past %v: %v, want %v", r.past, err, r.err)
		} else if past := next.Past(last); err == nil && past[0].Distinct != r.distinct {
			t.Errorf("resumed %v later: %d, want %d", time.Duration(r.now-last), past[0].Distinct, r.distinct)
		}
		if err := next.Abandon(); err != nil {
			t.Error(err)
		}
	}
}

// TestRunsOfPast has batches whose times are of one step, and steps that are part of one window: only these
// may take elements of the past for elements of the window.
func TestRunsOfPast(t *testing.T) {
	s := &past{cfg: &Config{Calendar: calendar.Calendar{Every: 25}}, step: 10}
	for _, r := range []struct {
		times                []int64
		sameStep, sameWindow bool
	}{
		{[]int64{0, 9}, true, true}, {[]int64{0, 10}, false, false}, {[]int64{9, 10}, false, false}, {[]int64{12, 8}, false, false},
		{[]int64{24, 21}, true, false}, {[]int64{26, 29}, true, false}, {[]int64{30, 39}, true, true}, {[]int64{40, 49}, true, true},
		{[]int64{noTime}, false, false}, {[]int64{5, noTime}, false, false}, {[]int64{-1, -10}, true, true},
	} {
		if s.begin(r.times); s.sameStep != r.sameStep || s.sameWindow != r.sameWindow {
			t.Errorf("%v: one step %v, one window %v", r.times, s.sameStep, s.sameWindow)
		}
	}
}
