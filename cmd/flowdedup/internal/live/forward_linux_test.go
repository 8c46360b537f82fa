package live

import (
	"errors"
	"testing"
)

// TestRefuseForward asks the kernel for what is connected, unless the names tell.
func TestRefuseForward(t *testing.T) {
	for _, c := range []struct {
		captured []string
		to       string
		refused  bool
	}{
		{[]string{"lo"}, "", false}, {[]string{"any"}, "", false}, {[]string{"nope"}, "lo", false},
		{[]string{"nope", "lo"}, "lo", true}, {[]string{"any"}, "lo", true}, {[]string{"nope"}, "nope", true},
	} {
		if err := refuseForward(c.captured, c.to); errors.Is(err, ErrLoop) != c.refused || err != nil && !c.refused {
			t.Errorf("-i %q --forward %q: %v", c.captured, c.to, err)
		}
	}
}
