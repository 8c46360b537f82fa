package clicks

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// Experiment returns the figures on synthetic clicks, the sliding window that the
// paper describes without measuring it, and the numbers of its text.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper:  "p2",
		Title:  "Duplicate Detection in Click Streams (Metwally, Agrawal, El Abbadi, WWW 2005)",
		Tables: []string{"p2.figure6", "p2.figure7", "p2.sliding", "p2.text"},
		Run:    run,
	}
}

func run(ctx context.Context, name string, o result.Options) (result.Table, error) {
	switch name {
	case "p2.figure6":
		return figure6(ctx, newLandmarkSetup(o), o.Workers)
	case "p2.figure7":
		return figure7(ctx, newJumpingSetup(o), o.Workers)
	case "p2.sliding":
		return sliding(ctx, newSlidingSetup(o), o.Workers)
	case "p2.text":
		return text(ctx, newTextSetup(o), o.Workers)
	}
	return result.Table{}, fmt.Errorf("clicks: no table %q", name)
}
