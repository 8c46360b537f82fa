// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
)

// countsHub takes files as a hub does, in memory.
type countsHub struct {
	got     []byte
	asked   int
	forget  int // at this request it forgets all
	refused string
}

func (h *countsHub) ask(msg []byte) ([]byte, error) {
	h.asked++
	var p CountsPart
	if err := p.Decode(msg); err != nil {
		return nil, err
	}
	if h.asked == h.forget {
		h.got = nil
	}
	if p.Offset == int64(len(h.got)) {
		h.got = append(h.got, p.Data...)
	}
	return CountsReply{Next: int64(len(h.got)), Refused: h.refused}.Encode(), nil
}

// TestSendCounts sends files of all sizes to a hub, and continues an interrupted one.
func TestSendCounts(t *testing.T) {
	for _, size := range []int{1, maxCountsData - 1, maxCountsData, 3*maxCountsData + 5} {
		file := bytes.Repeat([]byte("count"), size)[:size]
		for name, h := range map[string]*countsHub{
			"from the start": {}, "going on": {got: file[:size/2]}, "a hub that has it": {got: file}, "a hub that forgets": {forget: 3},
		} {
			err := SendCounts(context.Background(), bytes.NewReader(file), int64(size), 5, h.ask)
			if errors.Is(err, errBroken) && h.forget > 0 {
				h.forget = 0
				err = SendCounts(context.Background(), bytes.NewReader(file), int64(size), 5, h.ask)
			}
			if err != nil || !bytes.Equal(h.got, file) {
				t.Errorf("%d bytes, %s: %v, the hub has %d", size, name, err, len(h.got))
			}
		}
	}
	h := &countsHub{refused: "of another key"}
	if err := SendCounts(context.Background(), bytes.NewReader([]byte("x")), 1, 5, h.ask); !errors.Is(err, ErrCounts) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := SendCounts(ctx, bytes.NewReader([]byte("x")), 1, 5, h.ask); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzCountsPart(f *testing.F) {
	p := CountsPart{ID: sha256.Sum256(nil), Size: 100, Start: -1, Offset: 10, Data: []byte("abc")}
	f.Add(p.Append(nil))
	f.Add((&CountsPart{}).Append(nil))
	f.Fuzz(func(t *testing.T, msg []byte) {
		var p CountsPart
		if err := p.Decode(msg); err != nil {
			if !errors.Is(err, ErrMessage) && !errors.Is(err, ErrVersion) {
				t.Error(err)
			}
			return
		}
		again := p.Append(nil)
		if again[3] = msg[3]; !bytes.Equal(again, msg) {
			t.Errorf("%x becomes %x", msg, again)
		}
	})
}
