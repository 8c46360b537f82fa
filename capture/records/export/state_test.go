package export

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestState goes on with the templates of a run before.
func TestState(t *testing.T) {
	options := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, fieldsOf([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	first := []datagram{
		{routerA, 0, sets9(0, 1, usualSet, setOf(1, options))},
		{routerA, 1, sets9(1, 1, setOf(260, words(0), []byte{9, 0, 100}))},
		{routerB, 2, ipfixOf(900, 0, 3, setOf(2, templateOf(256, usualTemplate...)))},
		{routerB, 3, ipfixOf(900, 0, 4, setOf(256, usualRecords(someFlows...)))}, // waits, and is given up
	}
	r := NewReader(&wire{datagrams: first}, Config{})
	readAll(t, r)
	var state bytes.Buffer
	if err := r.Save(&state); err != nil {
		t.Fatal(err)
	}
	saved := state.String()
	then := []datagram{
		{routerA, 0, sets9(2, 1, usualData)},
		{routerB, 1, ipfixOf(900, 0, 3, setOf(256, usualRecords(someFlows...)))},
	}
	r = NewReader(&wire{datagrams: then}, Config{})
	if err := r.Restore(&state); err != nil {
		t.Fatal(err)
	}
	all := readAll(t, r)
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
		r := NewReader(&wire{}, Config{})
		if err := r.Restore(strings.NewReader(bad)); !errors.Is(err, ErrState) {
			t.Errorf("%.60q: %v", bad, err)
		}
		if r.sources.Len() != 0 {
			t.Errorf("%.60q: something was taken in", bad)
		}
	}
}
