package outfile

import (
	"errors"
	"fmt"
	"os"
)

// SetAside gives a file that does not fit another name, which no file has, and returns it:
// its own with .mismatch_ and a number. Errors are those of the system.
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
