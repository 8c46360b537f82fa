// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"os"
)

// SetAside gives a file another name, NAME.mismatch_001 or a later number, and returns it. No
// file is replaced. It is for a file that its owner may want back, where a run writes a new one
// of the same name.
func SetAside(name string) (string, error) {
	for number := 1; ; number++ {
		aside := fmt.Sprintf("%s.mismatch_%03d", name, number)
		switch err := os.Link(name, aside); {
		case errors.Is(err, os.ErrExist):
			continue
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, os.ErrPermission): // no hard links here
			return aside, os.Rename(name, aside)
		case err != nil:
			return "", err
		}
		return aside, os.Remove(name)
	}
}
