package live

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// ErrLoop is what the refusal to forward in a circle wraps.
var ErrLoop = errors.New("would capture again what it forwards")

// refuseForward returns an error if what is sent to an interface shows up at one that is
// captured from, or if one that is captured from has frames that cannot be sent.
func refuseForward(captured []string, to string) error {
	if to == "" {
		return nil
	}
	reached, err := ring.ReachedFrom(to)
	if err != nil {
		return err
	}
	for _, name := range captured {
		switch {
		case name == ring.Any || name == to:
			return fmt.Errorf("--forward %s: %w: -i %s holds it", to, ErrLoop, name)
		case reached[name]:
			return fmt.Errorf("--forward %s: %w: it is connected with -i %s", to, ErrLoop, name)
		}
		if link, err := ring.LinkTypeOf(name); err == nil && link != capture.LinkEthernet {
			return fmt.Errorf("--forward %s: %w: those of -i %s are %v, and only Ethernet is sent", to, ring.ErrLinkType, name, link)
		}
	}
	return nil
}
