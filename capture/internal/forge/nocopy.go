package forge

// NoCopy makes a file with options in every block that may have them; secret adds
// blocks and options that are not to be copied.
func NoCopy(order Order, secret bool) []byte {
	g := &File{Order: order}
	text := g.Option(optComment, []byte("comment"))
	hidden := func(values ...string) []byte {
		var list []byte
		for i, v := range values {
			if secret {
				list = append(list, g.Option(optCustomTextOnce+uint16(i&1), append(g.U32(nil, 32473), v...))...)
			}
		}
		return list
	}
	block := func() {
		if secret {
			g.Block(blockCustomNoCopy, g.U32(nil, 32473), []byte("secret block"))
		}
	}
	head := g.Order.AppendUint64(g.U16(g.U32(nil, byteOrderMagic), 1, 0), UnknownLength)
	g.Block(blockSectionHeader, head, hidden("secret"), text, hidden("secret 2", "secret data"), g.End())
	block()
	g.Block(blockInterface, g.U32(g.U16(nil, 1, 0), 0), text, hidden("secret"))
	g.Block(blockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), g.U16(nil, 0, 0), hidden("secret"), text, g.End())
	g.Block(blockDecryption, g.U32(nil, 7, 5), []byte("keys!\x00\x00\x00"), hidden("secret", "secret"), g.End())
	for i := range uint64(50) {
		g.Enhanced(0, i, []byte("packet")[:i%7], 6, text, hidden("secret of a packet"), g.Option(optCustomText, g.U32(nil, 1)), g.End())
		g.Enhanced(0, i, []byte("plain"), 5)
		g.Obsolete(0, 1, i, []byte("old"), 3, hidden("secret"), text)
		block()
		g.Enhanced(0, i, []byte("alone"), 5, hidden("secret"))
	}
	g.Block(blockStatistics, g.U32(nil, 0, 0, 5), hidden("secret", "secret"), g.Option64(4, 100), hidden("secret"), g.End())
	g.Block(blockCustom, g.U32(nil, 32473), []byte("payload"))
	return g.Bytes()
}
