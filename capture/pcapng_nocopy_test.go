package capture

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// forgeNoCopy makes a file with options in every block that may have them; secret adds
// blocks and options that are not to be copied.
func forgeNoCopy(order byteOrder, secret bool) []byte {
	g := &forge{order: order}
	text := g.option(optComment, []byte("comment"))
	hidden := func(values ...string) []byte {
		var list []byte
		for i, v := range values {
			if secret {
				list = append(list, g.option(optCustomTextOnce+uint16(i&1), append(g.u32(nil, 32473), v...))...)
			}
		}
		return list
	}
	block := func() {
		if secret {
			g.block(BlockCustomNoCopy, g.u32(nil, 32473), []byte("secret block"))
		}
	}
	head := g.order.AppendUint64(g.u16(g.u32(nil, byteOrderMagic), 1, 0), unknownLength)
	g.block(BlockSectionHeader, head, hidden("secret"), text, hidden("secret 2", "secret data"), g.end())
	block()
	g.block(BlockInterface, g.u32(g.u16(nil, 1, 0), 0), text, hidden("secret"))
	g.block(BlockNameResolution, g.u16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), g.u16(nil, 0, 0), hidden("secret"), text, g.end())
	g.block(BlockDecryption, g.u32(nil, 7, 5), []byte("keys!\x00\x00\x00"), hidden("secret", "secret"), g.end())
	for i := range uint64(50) {
		g.enhanced(0, i, []byte("packet")[:i%7], 6, text, hidden("secret of a packet"), g.option(optCustomText, g.u32(nil, 1)), g.end())
		g.enhanced(0, i, []byte("plain"), 5)
		g.obsolete(0, 1, i, []byte("old"), 3, hidden("secret"), text)
		block()
		g.enhanced(0, i, []byte("alone"), 5, hidden("secret"))
	}
	g.block(BlockStatistics, g.u32(nil, 0, 0, 5), hidden("secret", "secret"), g.option64(4, 100), hidden("secret"), g.end())
	g.block(BlockCustom, g.u32(nil, 32473), []byte("payload"))
	return g.bytes()
}

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
			"rotated": func(data []byte) []byte {
				return bytes.Join(rotate(t, source(t, data, "in"), RotateOptions{Size: 1500}, none).files, nil)
			},
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
