// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestState goes on with the templates of a run before.
func TestState(t *testing.T) {
	options := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, exporttest.Fields([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	first := []exporttest.Datagram{
		datagramOf(routerA, 0, sets9(0, 1, usualSet, exporttest.Set(1, options))),
		datagramOf(routerA, 1, sets9(1, 1, exporttest.Set(260, exporttest.Words(0), []byte{9, 0, 100}))),
		datagramOf(routerB, 2, exporttest.IPFIX(900, 0, 3, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)))),
		datagramOf(routerB, 3, exporttest.IPFIX(900, 0, 4, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...)))), // waits, and is given up
	}
	r := NewReader(&exporttest.Wire{Datagrams: first})
	exporttest.ReadAll(t, r)
	var state bytes.Buffer
	if err := r.Save(&state); err != nil {
		t.Fatal(err)
	}
	saved := state.String()
	then := []exporttest.Datagram{
		datagramOf(routerA, 0, sets9(2, 1, usualData)),
		datagramOf(routerB, 1, exporttest.IPFIX(900, 0, 3, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...)))),
	}
	r = NewReader(&exporttest.Wire{Datagrams: then})
	if err := r.Restore(&state); err != nil {
		t.Fatal(err)
	}
	all := exporttest.ReadAll(t, r)
	if len(all) != 2 || len(all[0].Records) != 1 || len(all[1].Records) != 3 || r.Counts().Templates != 0 {
		t.Fatalf("%d batches, %+v", len(all), r.Counts())
	}
	if s := all[0].Records[0].Sampling; s != 100 {
		t.Errorf("sampling %d", s)
	}
	var again bytes.Buffer
	if err := r.Save(&again); err != nil || again.Len() != len(saved) {
		t.Errorf("%v: saved again, it has %d bytes, not %d", err, again.Len(), len(saved))
	}
	for _, bad := range []string{"", "{", saved[:len(saved)/2], strings.Replace(saved, `"version":1`, `"version":2`, 1),
		strings.Replace(saved, `"id":256`, `"id":3`, 1), strings.Replace(saved, "[8,4,0]", "[8,65536,0]", 1)} {
		r := NewReader(&exporttest.Wire{})
		if err := r.Restore(strings.NewReader(bad)); !errors.Is(err, ErrState) {
			t.Errorf("%.60q: %v", bad, err)
		}
		if len(r.sources.byKey) != 0 {
			t.Errorf("%.60q: something was taken in", bad)
		}
	}
}
