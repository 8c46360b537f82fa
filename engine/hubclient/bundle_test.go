// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestParts has bundles that are whole, cut anywhere, out of order, or longer than they are.
func TestParts(t *testing.T) {
	type part struct {
		slice int
		msg   string
	}
	read := func(bundle []byte) (all []part, ok bool) {
		ok = Parts(bundle, func(slice int, msg []byte) { all = append(all, part{slice, string(msg)}) })
		return all, ok
	}
	want := []part{{0, "first"}, {3, ""}, {999, "last"}}
	var bundle []byte
	ends := []int{0}
	for _, p := range want {
		bundle = AppendPart(bundle, p.slice, []byte(p.msg))
		ends = append(ends, len(bundle))
	}
	for n := range len(bundle) + 1 {
		whole, rest := slices.BinarySearch(ends, n)
		if !rest {
			whole--
		}
		if got, ok := read(bundle[:n]); ok != rest || !slices.Equal(got, want[:whole]) {
			t.Errorf("%d bytes: %v, %v", n, got, ok)
		}
	}
	for name, bad := range map[string][]byte{
		"a slice twice": AppendPart(AppendPart(nil, 4, nil), 4, nil), "slices that fall": AppendPart(AppendPart(nil, 4, nil), 3, nil),
		"a long part": {0, 0, 255, 255, 255, 255, 1},
	} {
		if got, ok := read(bad); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := PartReply("_INBOX.a.run.all", 7, 99); got != "_INBOX.a.run.7.99" {
		t.Error(got)
	}
}

func FuzzParts(f *testing.F) {
	f.Add(AppendPart(AppendPart(nil, 1, []byte("x")), 2, nil))
	f.Fuzz(func(t *testing.T, bundle []byte) {
		var again []byte
		if ok := Parts(bundle, func(slice int, msg []byte) { again = AppendPart(again, slice, msg) }); !bytes.HasPrefix(bundle, again) || ok && len(again) != len(bundle) {
			t.Errorf("%x is read as %x, %v", bundle, again, ok)
		}
	})
}

// hubs are several hubs that share slices. Some are old, and know no bundles.
type hubs struct {
	network
	old             [4]bool // by slice
	bundled, single int     // messages with requests
}

func newHubs(old ...int) *hubs {
	h := &hubs{network: *newNetwork(7)}
	for _, slice := range old {
		h.old[slice] = true
	}
	return h
}

// Send has each hub take what it knows.
func (h *hubs) Send(subject, reply string, msg []byte) error {
	to, ok := ParseSubject(subject)
	if !ok {
		return nil // a report
	}
	if to.Slice != allSlices {
		h.single++
		return h.network.Send(subject, reply, msg)
	}
	h.bundled++
	if h.old == [4]bool{true, true, true, true} {
		h.post(sent{subject: reply, refused: true})
		return nil
	}
	var known []byte
	Parts(msg, func(slice int, part []byte) {
		if !h.old[slice] {
			known = AppendPart(known, slice, part)
		}
	})
	return h.network.Send(subject, reply, known)
}

// TestOldHubs has a sensor ask hubs of which none, some or all know no bundles: they answer for all
// packets, in few messages where they can.
func TestOldHubs(t *testing.T) {
	for _, c := range []struct {
		name            string
		old             []int
		bundled, single int // at most
	}{
		{"new", nil, 500, 0},
		{"one old slice", []int{2}, 500, 150},
		{"all old", []int{0, 1, 2, 3}, 10, 600},
	} {
		n := newHubs(c.old...)
		client := n.site("a", 20*time.Millisecond)
		client.to = n
		rng := rand.New(rand.NewPCG(1, 1))
		answers := make([]Answers, 1000)
		for i := range answers {
			digests, times, skip := batchOf(3*i, 3)
			client.Ask(&answers[i], digests, times, skip)
			n.pass(time.Duration(100+rng.IntN(4)*100) * time.Microsecond)
		}
		n.pass(50 * time.Millisecond)
		for i := range answers {
			if !client.Ready(&answers[i]) || answers[i].Unchecked != 0 {
				t.Fatalf("%s: batch %d: %+v", c.name, i, answers[i])
			}
		}
		if n.bundled > c.bundled || n.single > c.single {
			t.Errorf("%s: %d bundles and %d single requests, want at most %d and %d", c.name, n.bundled, n.single, c.bundled, c.single)
		}
		if s := client.Stats(); s.Copies != 0 || s.Asked != 3000 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// TestFarHub has a hub whose answers take long, though in time. Packets never wait for a window.
func TestFarHub(t *testing.T) {
	n := newNetwork(8)
	client := n.site("a", 45*time.Millisecond)
	far := &farHub{network: n}
	client.to = far
	for i := range 2000 {
		var a Answers
		digests, times, skip := batchOf(4*i, 4)
		client.Ask(&a, digests, times, skip)
		n.pass(300 * time.Microsecond)
	}
	n.pass(100 * time.Millisecond)
	if s := client.Stats(); s.Unchecked > 0 {
		t.Errorf("%d of %d packets unchecked", s.Unchecked, s.Asked)
	}
}

// farHub is a hub 30 ms away.
type farHub struct{ *network }

func (h *farHub) Send(subject, reply string, msg []byte) error {
	at := len(h.messages)
	err := h.network.Send(subject, reply, msg)
	for i := range h.messages[min(at, len(h.messages)):] {
		h.messages[at+i].at += 30 * time.Millisecond
	}
	return err
}
