// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestExpire closes windows as time goes by, and none of them twice.
func TestExpire(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	feedTimes(t, w, []int64{0, hour, hour + 1, 3 * hour}, 10)
	starts := func() (s []int64) {
		for _, b := range r.closed {
			s = append(s, b.start)
		}
		return s
	}
	for _, step := range []struct {
		now    int64
		closed []int64
	}{
		{-hour, nil}, {hour - 1, nil}, {hour, []int64{0}}, {hour, []int64{0}},
		{2*hour + 1, []int64{0, hour}}, {hour / 2, []int64{0, hour}}, {9 * hour, []int64{0, hour, 3 * hour}},
	} {
		w.Expire(step.now)
		if got := starts(); !slices.Equal(got, step.closed) {
			t.Fatalf("at %d closed %v, want %v", step.now, got, step.closed)
		}
	}
	if _, content := w.Run([]int64{8 * hour}); content != nil || w.Late() != 1 {
		t.Errorf("a packet of an hour that has passed: %v, %d late", content, w.Late())
	}
	if _, content := w.Run([]int64{9 * hour}); content == nil {
		t.Error("the present hour is closed")
	}
}

// TestExpireSetBack has the clock go back. The windows from then on open again, unless it went
// back to the window before only, and earlier windows stay closed.
func TestExpireSetBack(t *testing.T) {
	for _, c := range []struct{ ahead, now, open, late int64 }{
		{9000 * hour, 5 * hour, 5 * hour, 4 * hour},     // after a wrong time far ahead
		{9 * hour, 7*hour + 1, 7 * hour, 6 * hour},      // past the window before
		{9 * hour, 8*hour + 1, 9 * hour, 8 * hour},      // to the window before
		{math.MaxInt64, 5 * hour, 5 * hour, 5*hour - 1}, // to the end of time
	} {
		r := &recorder{t: t, again: true}
		w := r.windows(time.Hour)
		for i := range int64(10) { // each has a packet
			w.Run([]int64{i * hour})
		}
		w.Expire(c.ahead)
		w.Expire(c.now)
		for _, at := range []int64{c.open, c.open + hour} {
			if _, content := w.Run([]int64{at}); content == nil {
				t.Errorf("%v: the window of %d is closed", c, at)
			}
		}
		if _, content := w.Run([]int64{c.late}); content != nil {
			t.Errorf("%v: the window of %d is open", c, c.late)
		}
		if w.Expire(c.open + hour); len(r.closed) == 0 || r.closed[len(r.closed)-1].start != c.open {
			t.Errorf("%v: closed %v", c, r.closed)
		}
	}
}

// TestExpireWithoutEnd does not touch the window of all time.
func TestExpireWithoutEnd(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(0)
	feedTimes(t, w, []int64{0, hour}, 10)
	w.Expire(100 * hour)
	if len(r.closed) != 0 {
		t.Error("it is closed")
	}
}

// TestResume goes on with windows of another run.
func TestResume(t *testing.T) {
	r := &recorder{t: t}
	w := r.windows(time.Hour)
	w.Resume(hour, 2*hour, 3, &bin{start: hour, end: 2 * hour, packets: 3})
	w.Resume(0, hour, 5, &bin{start: 0, end: hour, packets: 5})
	w.Resume(hour, 2*hour, 1, &bin{start: hour, end: 2 * hour})
	feedTimes(t, w, []int64{hour, hour + 1}, 10)
	var packets []int64
	w.Each(func(start, _, n int64, _ *bin) { packets = append(packets, start, n) })
	if want := []int64{0, 5, hour, 5}; !slices.Equal(packets, want) {
		t.Errorf("open windows and packets %v, want %v", packets, want)
	}
	w.Expire(hour)
	w.Resume(0, hour, 5, &bin{start: 0, end: hour})
	if len(r.closed) != 1 || r.closed[0].packets != 5 {
		t.Errorf("closed %v", r.closed)
	}
	w.Close()
	if len(r.closed) != 2 || r.closed[1].packets != 5 {
		t.Errorf("closed %v", r.closed)
	}
}
