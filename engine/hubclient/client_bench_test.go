// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"encoding/binary"
	"testing"
	"time"
)

// echo is a hub that answers at once: nothing is a copy.
type echo struct{ replies []sent }

func (e *echo) Connected() bool { return true }

func (e *echo) Send(_, reply string, msg []byte) error {
	r := Reply{N: binary.LittleEndian.Uint32(msg[12:]), Seq: binary.LittleEndian.Uint64(msg[16:]), Copies: make([]byte, batchDigests/8)}
	e.replies = append(e.replies, sent{reply: reply, body: r.Append(nil)})
	return nil
}

// BenchmarkAsk measures the cost of a digest at a sensor, without the network: from Ask
// to its answer.
func BenchmarkAsk(b *testing.B) {
	for _, slices := range []int{1, 64} {
		b.Run(map[int]string{1: "slices=1", 64: "slices=64"}[slices], func(b *testing.B) {
			token := someToken()
			token.Slices = slices
			to := &echo{}
			now := time.Duration(0)
			c := newClient(ClientConfig{Token: token, Wait: time.Second}, to, "run", time.Unix(1, 0), func() time.Duration { return now })
			digests, times, skip := batchOf(0, 1024)
			for i := range times {
				times[i] = 1e18
			}
			var a [64]Answers
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(digests) {
				c.Ask(&a[i/len(digests)%len(a)], digests, times, skip)
				for _, m := range to.replies {
					c.Receive(m.reply, m.body, false)
				}
				to.replies = to.replies[:0]
			}
		})
	}
}
