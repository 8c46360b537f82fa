// SPDX-License-Identifier: Apache-2.0

package extcap

import (
	"context"
	"errors"
	"net"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// Translate answers Wireshark's questions to a program of its folder extcap. For a capture it
// returns the command line that captures, else nil.
func Translate(ctx context.Context, e *cli.Env, args []string) ([]string, error) {
	check := func(in offer, expression string) error {
		filter := bpf.Filter{Expr: expression}
		_, err := filter.For(ctx, in.link, afpacket.MaxSnapLen, in.name)
		return err
	}
	live, err := reply(args, capturable(), e.Stdout, check)
	if errors.Is(err, errUsage) {
		err = cli.Usage(err)
	}
	return live, err
}

// capturable returns the interfaces that live can capture from: none where the system is
// not Linux.
func capturable() (all []offer) {
	names := []string{afpacket.Any}
	interfaces, err := net.Interfaces()
	if err != nil {
		interfaces = nil // any remains
	}
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	for _, name := range names {
		link, err := afpacket.LinkTypeOf(name)
		if name == afpacket.Any {
			link = capture.LinkLinuxSLL2
		}
		if err == nil {
			all = append(all, offer{name: name, link: link})
		}
	}
	return all
}
