package sliding

// deliveries knows in which unit each element was delivered last.
type deliveries struct {
	afterUnit []uint64 // one more than the unit; 0 if never
	window    uint64
}

func newDeliveries(window int) *deliveries {
	return &deliveries{make([]uint64, domain), uint64(window)}
}

// recent reports whether the element was delivered in the window that ends with unit.
func (d *deliveries) recent(element, unit uint64) bool {
	after := d.afterUnit[element]
	return after > 0 && unit-(after-1) < d.window
}

func (d *deliveries) add(element, unit uint64) { d.afterUnit[element] = unit + 1 }

// verdict is what a filter says of an event, beside the two meanings of the truth.
type verdict struct {
	seen         bool
	known        bool // the filter itself delivered the element in the window
	perfectKnown bool // a filter without errors did
}

// groundTruth follows a filter's deliveries, and those of a filter without errors.
type groundTruth struct {
	own, perfect *deliveries
}

func newGroundTruth(window int) *groundTruth {
	return &groundTruth{newDeliveries(window), newDeliveries(window)}
}

// groundTruth takes the filter's answer for the event that comes next.
func (j *groundTruth) verdict(element, unit uint64, seen bool) verdict {
	v := verdict{seen, j.own.recent(element, unit), j.perfect.recent(element, unit)}
	if !v.seen {
		j.own.add(element, unit)
	}
	if !v.perfectKnown {
		j.perfect.add(element, unit)
	}
	return v
}
