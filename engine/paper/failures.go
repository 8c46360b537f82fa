package paper

// Fail has the site of a slice fail: its bits are neither read nor set from
// now on. slice is from 0 to Slices - 1. A slice that failed before is not
// affected.
//
// What becomes of an element with bits there is decided by AtLeast
// ([SlicedConfig]), in the three ways of section 3.2 of the paper: as duplicate, by
// Eq. 5 or 6; as distinct, by the symmetric approach; or by the heuristic in
// between. See theory.Sliced for the rates.
func (s *Sliced) Fail(slice int) error {
	if err := requireRange("slice", slice, 0, len(s.slices)-1); err != nil {
		return err
	}
	s.slices[slice].failed = true
	return nil
}

// Failed returns the number of slices that have failed.
func (s *Sliced) Failed() int {
	failed := 0
	for i := range s.slices {
		if s.slices[i].failed {
			failed++
		}
	}
	return failed
}
