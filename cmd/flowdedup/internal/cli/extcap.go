// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/extcap"
)

// answerWireshark answers what Wireshark asks a program of its folder extcap. To capture,
// it returns the command line that does, else nil.
func answerWireshark(ctx context.Context, e *Env, args []string) ([]string, error) {
	check := func(in extcap.Interface, expression string) error {
		filter := bpf.Filter{Expr: expression}
		_, err := filter.For(ctx, in.Link, ring.MaxSnapLen, in.Name)
		return err
	}
	live, err := extcap.Answer(args, capturable(), e.Stdout, check)
	if errors.Is(err, extcap.ErrUsage) {
		err = &usageError{err}
	}
	return live, err
}

// capturable returns the interfaces that live can capture from: none where the system is
// not Linux.
func capturable() (all []extcap.Interface) {
	names := []string{ring.Any}
	interfaces, err := net.Interfaces()
	if err != nil {
		interfaces = nil // any remains
	}
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	for _, name := range names {
		link, err := ring.LinkTypeOf(name)
		if name == ring.Any {
			link = capture.LinkLinuxSLL2
		}
		if err == nil {
			all = append(all, extcap.Interface{Name: name, Link: link})
		}
	}
	return all
}
