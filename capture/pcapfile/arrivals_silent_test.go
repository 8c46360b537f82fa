// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// busy is a capture whose packets have come, but are read late. It is asked whether it is
// silent some times before it delivers them.
type busy struct {
	capture.Source
	asked int
	read  chan struct{}
}

func (s *busy) Silent() bool {
	if s.asked++; s.asked == 5 {
		close(s.read)
	}
	return false
}

func (s *busy) Next(b *capture.Batch) error {
	<-s.read
	return s.Source.Next(b)
}

// TestArrivalsBusy waits for a capture that is not silent, whatever the time. Without, what
// others have delivered would leave first.
func TestArrivalsBusy(t *testing.T) {
	a := NewArrivals([]string{"busy", "prompt"}, time.Nanosecond)
	defer a.Close()
	for i, times := range [][]int64{{50, 60}, {100, 110}} {
		src, err := NewReader(bytes.NewReader(pcapOf(times...)), "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := Arrival{Source: src, Input: i, Lag: time.Nanosecond}
		if i == 0 {
			c.Source = &busy{Source: src, read: make(chan struct{})}
		}
		a.Add(c)
	}
	var got []int64
	for {
		all, err := nextPackets(t, a)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			got = append(got, p.time)
		}
	}
	if want := []int64{50, 60, 100, 110}; !slices.Equal(got, want) || a.Late() != 0 {
		t.Errorf("%d, %d late", got, a.Late())
	}
}
