// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// peerSource is a capture of a peer, which notes why it was refused.
type peerSource struct {
	capture.Source
	refused *[]error
}

func (p peerSource) Refuse(reason error) error {
	*p.refused = append(*p.refused, reason)
	return nil
}

// TestArrivalsFull has peers describe as many interfaces as a run takes. Another peer is
// refused, leaves no trace, and is the reason that Full gives. An input of our own has room,
// as has a peer that comes again with what it had.
func TestArrivalsFull(t *testing.T) {
	described := func(name string, n int) []byte {
		var b capture.Batch
		for i := range n {
			b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: fmt.Sprint(name, i)})
		}
		b.Append(capture.Frame{Time: 1}, []byte{1})
		var out bytes.Buffer
		w := NewWriter(&out, WriterOptions{})
		if err := errors.Join(w.Write(&b, nil), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	a := NewArrivals([]string{"in"}, 0)
	defer a.Close()
	defer a.Expect(func() {})()
	var refused []error
	packets := 0
	take := func(slot, name string, n int, peer bool) {
		t.Helper()
		src, err := NewReader(bytes.NewReader(described(name, n)), slot, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if peer {
			src = peerSource{src, &refused}
		}
		a.Add(Arrival{Source: src, Slot: slot})
		before := len(refused)
		a.SetIdle(1)
		var b capture.Batch
		for end := packets + 1; packets < end && len(refused) == before; {
			if err := a.Next(&b); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			packets += len(b.Frames)
		}
	}
	const hosts = maxPeersTables / maxPeerTables
	for i := range hosts {
		take(fmt.Sprint("host", i), "eth", maxPeerTables, true)
	}
	if a.Full() != "" || len(refused) > 0 {
		t.Fatalf("%q, %v", a.Full(), refused)
	}
	take("one more", "eth", 1, true)
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "one more: more than 57344 sections or interfaces of all peers") || !strings.Contains(a.Full(), "57344 sections or interfaces") {
		t.Errorf("%v, %q", refused, a.Full())
	}
	for i := range 100 {
		take(fmt.Sprint("stranger", i), "eth", 1, true)
	}
	if len(a.slots) != hosts || len(a.described) != hosts {
		t.Errorf("%d slots and %d peers are remembered of %d", len(a.slots), len(a.described), hosts)
	}
	take("host7", "eth", maxPeerTables, true)
	take("", "own", 1000, false)
	if len(refused) != 101 || packets != hosts+2 {
		t.Errorf("%d refused, %d packets", len(refused), packets)
	}
}
