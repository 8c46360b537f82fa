package capture

// Option codes that are read (draft-ietf-opsawg-pcapng, sections 3.5 and 4.2).
const (
	optEnd      = 0
	optName     = 2
	optTSResol  = 9
	optFCSLen   = 13
	optTSOffset = 14
)

// optionList walks a pcapng option list: code and length of 16 bits each, and
// the value, padded to 4 bytes. The list ends with optEnd or with its bytes.
type optionList struct {
	rest []byte
	big  bool
}

// next returns the next option, or optEnd. It fails on an option that runs past
// the list, and leaves that in rest.
func (o *optionList) next() (code uint16, value []byte, err error) {
	if len(o.rest) < 4 {
		return optEnd, nil, nil
	}
	code, size := order16(o.rest, o.big), order16(o.rest[2:], o.big)
	if code == optEnd {
		return optEnd, nil, nil
	}
	end := 4 + int(size)
	if end > len(o.rest) {
		return optEnd, nil, damaged("option %d of %d bytes runs past its block", code, size)
	}
	value = o.rest[4:end:end]
	o.rest = o.rest[min((end+3)&^3, len(o.rest)):]
	return code, value, nil
}

// checkOptions walks a list to its end, and fails if an option breaks it.
func checkOptions(list []byte, big bool) error {
	o := optionList{list, big}
	for {
		code, _, err := o.next()
		if err != nil || code == optEnd {
			return err
		}
	}
}
