package capture

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestNoCopy leaves out what is not to be copied, whichever way a file is read and
// written: what is left is as if it had never been there.
func TestNoCopy(t *testing.T) {
	none := func() bool { return false }
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		with, without := forgeNoCopy(order, true), forgeNoCopy(order, false)
		for _, chunk := range []int{0, 1, 100} {
			equal(t, readAll(t, open(t, with, Options{ChunkSize: chunk})), readAll(t, open(t, without, Options{})))
		}
		written := map[string]func(data []byte) []byte{
			"one":    func(data []byte) []byte { return split(t, source(t, data, "in"), false, none).kept.Bytes() },
			"merged": func(data []byte) []byte { return mergedNG(t, data).kept.Bytes() },
		}
		for name, write := range written {
			got := write(with)
			if !bytes.Equal(got, write(without)) || bytes.Contains(got, []byte("secret")) {
				t.Errorf("%v, %s: the output is not that of an input without", order, name)
			}
		}
	}
}

// TestNoCopyBrokenList ends a list where it breaks, behind what was left out.
func TestNoCopyBrokenList(t *testing.T) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		g := &forge{order: order}
		g.section(unknownLength)
		g.iface(1, 0)
		broken := g.u16(nil, optComment, 4000)
		g.enhanced(0, 1, []byte("data"), 4, g.option(optCustomDataOnce, []byte("gone")), g.option(optComment, []byte("kept")), broken)
		warned := 0
		w := readAll(t, open(t, g.bytes(), Options{Warn: func(error) { warned++ }}))
		want := &forge{order: order}
		want.enhanced(0, 1, []byte("data"), 4, want.option(optComment, []byte("kept")), want.end())
		if w.err != nil || warned != 1 || len(w.packets) != 1 || w.packets[0].record != string(want.bytes()) {
			t.Errorf("%v: %d warnings, %v, %+v", order, warned, w.err, w.packets)
		}
	}
}
