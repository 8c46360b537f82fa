package workload

const shortest, longer = MinSize, 100 // the short frames of Bimodal are below

// nextSize draws a frame size.
func (g *generator) nextSize() uint16 {
	switch g.size {
	case IMIX:
		return g.imix()
	case Bimodal:
		return g.bimodal()
	}
	return uint16(g.size)
}

func (g *generator) imix() uint16 {
	switch part := g.below(12); {
	case part < 7:
		return 64
	case part < 11:
		return 576
	}
	return MaxSize
}

func (g *generator) bimodal() uint16 {
	switch part := g.below(20); {
	case part < 9:
		return uint16(shortest + g.below(longer-shortest))
	case part < 11:
		return uint16(longer + g.below(MaxSize-longer))
	}
	return MaxSize
}
