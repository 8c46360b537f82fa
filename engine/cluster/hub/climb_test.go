// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// cut is a connection that is down.
type cut struct{}

func (cut) Send(subject, reply string, msg []byte) error { return nil }
func (cut) Connected() bool                              { return false }

// TestAskedOnce has three askers of one site send more requests than rows remember answers of, and
// repeat them in another order. None is asked about above a second time: to a filter there its
// digests would be copies of themselves.
func TestAskedOnce(t *testing.T) {
	o := newOwner(t)
	token := o.hub.settings.token("region", "")
	p := &parent{token: token, done: make(chan *climber, maxClimbing)}
	p.client = hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: time.Second, Anytime: true}, cut{}, "run")
	o.hub.parent, o.hub.log = p, newTestLog(t)
	t.Cleanup(p.client.Close)
	const asked = 24
	order := make([]int, asked)
	for i := range order {
		order[i] = i
	}
	for _, later := range []bool{false, true} {
		stale := 0
		for _, i := range order {
			r := goodRequest()
			r.Seq, r.Digests = uint64(i/3), []uint64{uint64(10*i + 1), uint64(10*i + 2)}
			o.reply = fmt.Sprintf("%s.run%d.0.%d", hubclient.Inbox("a"), i%3, i/3)
			o.respond(goodSubject, r.Append(nil), false, time.UnixMicro(int64(r.Time)))
			if !later {
				if !o.silent {
					t.Fatalf("%s is not asked about above", o.reply)
				}
				o.landed(<-p.done)
				continue
			}
			var reply hubclient.Reply
			if err := reply.Decode(o.out); err != nil || o.silent {
				t.Fatalf("%s is asked about again (%v)", o.reply, err)
			}
			if reply.Status == hubclient.Stale {
				stale++
			} else if reply.Status != hubclient.OK || reply.Copies[0] != 0 {
				t.Fatalf("%s: %v %x", o.reply, reply.Status, reply.Copies)
			}
		}
		for i := range asked / 2 { // the latest first
			order[i], order[asked-1-i] = order[asked-1-i], order[i]
		}
		if digests := p.digests.Load(); digests != 2*asked || later && (stale == 0 || stale == asked) {
			t.Errorf("%d digests, %d requests refused", digests, stale)
		}
	}
}
