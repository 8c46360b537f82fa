// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// checkOutputs sorts the values of -w, and rejects outputs that do not fit together.
func (f *flags) checkOutputs() error {
	f.output = ""
	if len(f.outputs) > 0 {
		f.output = f.outputs[0]
	}
	isFile := func(name string) bool { return !pcapoverip.IsAddress(name) }
	shared := len(f.forward) + len(f.outputs)
	for _, names := range [][]string{f.outputs, f.forward} {
		for i, name := range names {
			if slices.Contains(names[:i], name) {
				return cli.Usagef("the output %s is named twice", name)
			}
		}
	}
	if i := slices.IndexFunc(f.outputs, isFile); i >= 0 {
		if len(f.outputs) > 1 {
			return cli.Usagef("-w %s: several -w are for tcp:// and tcp-listen://", f.outputs[i])
		}
		shared--
	}
	if f.balance != "" && shared < 2 {
		return cli.Usagef("--balance shares packets among several outputs: repeat --forward, or -w with tcp:// or tcp-listen://")
	}
	return nil
}

// others returns the outputs of -w but the first.
func (f *flags) others() []string { return f.outputs[min(1, len(f.outputs)):] }

// refuseForwards returns an error if packets sent to one of the interfaces would show up at a
// captured one.
func refuseForwards(captured, to []string) error {
	for _, name := range to {
		if err := refuseForward(captured, name); err != nil {
			return err
		}
	}
	return nil
}
