// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestBundle has a hub answer the parts for its own slice as it answers single requests, and nothing
// else.
func TestBundle(t *testing.T) {
	const inbox = "_INBOX.a.run.all"
	good := goodRequest()
	msg := good.Append(nil)
	now := time.UnixMicro(int64(good.Time))
	part := hubclient.AppendPart
	for _, c := range []struct {
		name, subject, reply string
		bundle               []byte
		overloaded           bool
		want                 []hubclient.Status
		bad                  uint64
	}{
		{"its slice", "fd.main.packets.1.all.tas.a", inbox, part(nil, 0, msg), false, []hubclient.Status{hubclient.OK}, 0},
		{"its slice and others", "fd.main.packets.1.all.tas.a", inbox, part(part(nil, 0, msg), 5, msg), false, []hubclient.Status{hubclient.OK}, 0},
		{"others", "fd.main.packets.1.all.tas.a", inbox, part(nil, 999, msg), false, nil, 0},
		{"overloaded", "fd.main.packets.1.all.tas.a", inbox, part(nil, 0, msg), true, []hubclient.Status{hubclient.Overloaded}, 0},
		{"a bad part", "fd.main.packets.1.all.tas.a", inbox, part(nil, 0, msg[:9]), false, []hubclient.Status{hubclient.Bad}, 1},
		{"cut", "fd.main.packets.1.all.tas.a", inbox, part(part(nil, 0, msg), 1, msg)[:len(msg)+9], false, []hubclient.Status{hubclient.OK}, 1},
		{"a slice twice", "fd.main.packets.1.all.tas.a", inbox, part(part(nil, 0, msg), 0, msg), false, []hubclient.Status{hubclient.OK}, 1},
		{"other operation", "fd.main.packets.1.all.test.a", inbox, part(nil, 0, msg), false, []hubclient.Status{hubclient.Bad}, 1},
		{"epoch", "fd.main.packets.2.all.tas.a", inbox, part(nil, 0, msg), false, []hubclient.Status{hubclient.WrongEpoch}, 0},
		{"foreign inbox", "fd.main.packets.1.all.tas.a", "_INBOX.b.run.all", part(nil, 0, msg), false, nil, 1},
	} {
		o := newOwner(t)
		o.hub.owners = map[int]*owner{0: o}
		var got []hubclient.Status
		out := o.hub.answerBundle(nil, &nats.Msg{Subject: c.subject, Reply: c.reply, Data: c.bundle}, "a", c.overloaded, now)
		if !hubclient.Parts(out, func(number int, answer []byte) {
			var r hubclient.Reply
			if err := r.Decode(answer); err != nil || number != 0 {
				t.Errorf("%s: slice %d, %v", c.name, number, err)
			}
			got = append(got, r.Status)
		}) || len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if n := o.hub.bad.all()["a"]; n != c.bad {
			t.Errorf("%s: %d bad messages, want %d", c.name, n, c.bad)
		}
		if o.bundled {
			t.Errorf("%s: the owner takes later requests for parts", c.name)
		}
		// The site sends a part without an answer again, singly: it changes nothing.
		if len(c.want) > 0 && c.want[0] == hubclient.OK {
			o.respond(goodSubject, msg, false, now)
			if st := o.slice.Stats(); st.Sites[0].Digests != 3 || st.Sites[0].Replayed != 1 {
				t.Errorf("%s: %+v", c.name, st.Sites)
			}
		}
		o.up.closed = true
		if out := o.hub.answerBundle(nil, &nats.Msg{Subject: c.subject, Reply: c.reply, Data: c.bundle}, "a", c.overloaded, now); len(out) > 0 {
			t.Errorf("%s: a slice answers that was given away", c.name)
		}
	}
}
