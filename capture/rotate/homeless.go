// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// isHomeless reports whether the folder took no name for a file. It warns of the file, and bringHome
// tries again.
func (r *series) isHomeless(f *segment, err error) bool {
	away, ok := f.out.Homeless()
	if !ok {
		return false
	}
	f.names = r.names
	f.names.number = 0
	r.homeless = append(r.homeless, f)
	where := "in no file until then"
	if away != "" {
		where = "in " + away + " until then"
	}
	r.warn(fmt.Errorf("a file has no name in its folder, which is tried again (%d packets, %s): %w", f.content.Written(), where, reason(err)))
	return true
}

// reason returns why an output was kept elsewhere.
func reason(err error) error {
	var kept *outfile.KeptError
	if errors.As(err, &kept) {
		return kept.Err
	}
	return err
}

// bringHome gives files their names that the folder took none for before.
func (r *series) bringHome() {
	still := r.homeless[:0]
	for _, f := range r.homeless {
		if err := f.out.Home(f.names.next); err != nil {
			still = append(still, f)
			continue
		}
		if f.whole {
			r.stats.Files++
		}
		r.completed(f)
		r.warn(fmt.Errorf("a file without a name (%d packets) has come home: %s", f.content.Written(), f.out.Name()))
	}
	if r.homeless = still; len(still) == 0 && r.err != nil && !r.told && r.err == r.unnamed && r.stats.Lost == r.lostThen {
		r.err = nil // nothing is missing
	}
}

// forsake ends the files that have no name in the end. The error says where each is.
func (r *series) forsake() error {
	var errs []error
	for _, f := range r.homeless {
		away, _ := f.out.Homeless()
		err := fmt.Errorf("%d packets of %s: the folder took no name for their file", f.content.Written(), r.name)
		if away != "" {
			r.stats.Elsewhere = append(r.stats.Elsewhere, away)
			err = &outfile.KeptError{Name: away, Err: err}
		} else {
			r.stats.Packets -= f.content.Written()
			r.stats.Lost += f.content.Written()
		}
		errs = append(errs, err, f.out.Forsake())
	}
	r.homeless = nil
	return errors.Join(errs...)
}
