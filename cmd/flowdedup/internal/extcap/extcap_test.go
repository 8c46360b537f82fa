// SPDX-License-Identifier: Apache-2.0

package extcap

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

var offered = []offer{{"any", capture.LinkLinuxSLL2}, {"eth0", capture.LinkEthernet}, {"ib0", 242}}

func answer(args string) (string, []string, error) {
	var out strings.Builder
	live, err := reply(strings.Fields(args), offered, &out, func(in offer, expression string) error {
		if expression == "bad" {
			return errors.New("syntax error for " + in.name)
		}
		return nil
	})
	return out.String(), live, err
}

// TestAnswers holds answers against what Wireshark's documentation says.
func TestAnswers(t *testing.T) {
	for _, c := range []struct{ args, begins, has string }{
		{"--extcap-interfaces --extcap-version=4.4", "extcap {version=", "\ninterface {value=flowdedup-eth0}{display=eth0 without duplicates}\n"},
		{"extcap --extcap-interfaces", "extcap {version=", "\ninterface {value=flowdedup-eth0}"},
		{"--extcap-interface flowdedup-eth0 --extcap-dlts", "dlt {number=1}{name=EN10MB}{display=Ethernet}\n", ""},
		{"--extcap-interface=flowdedup-any --extcap-dlts", "dlt {number=276}", "{name=LINUX_SLL2}"},
		{"--extcap-interface flowdedup-ib0 --extcap-dlts", "dlt {number=242}{name=LINKTYPE_242}", ""},
		{"--extcap-interface flowdedup-eth0 --extcap-config", "arg {number=0}{call=--window}", "value {arg=1}{value=l3}"},
		{"--extcap-interface flowdedup-eth0 --extcap-capture-filter bad", "syntax error for eth0", ""},
		{"--extcap-interface flowdedup-eth0 --extcap-capture-filter udp", "", ""},
	} {
		out, live, err := answer(c.args)
		if err != nil || live != nil || !strings.HasPrefix(out, c.begins) || !strings.Contains(out, c.has) || c.begins == "" && out != "" {
			t.Errorf("%s: %q, %v, %v", c.args, out, live, err)
		}
	}
}

// TestCapture makes a command line of what Wireshark sets.
func TestCapture(t *testing.T) {
	for args, want := range map[string]string{
		"--capture --extcap-interface flowdedup-eth0 --fifo /tmp/p":                                           "live -i eth0 -w /tmp/p --quiet",
		"--capture --extcap-interface flowdedup-any --fifo /tmp/p --keep flow --window 5ms":                   "live -i any -w /tmp/p --quiet --window 5ms --keep flow",
		"--capture --extcap-interface flowdedup-eth0 --fifo /tmp/p --extcap-capture-filter udp --identity=l3": "live -i eth0 -w /tmp/p --quiet --identity l3 --filter udp",
	} {
		if out, live, err := answer(args); err != nil || out != "" || !slices.Equal(live, strings.Fields(want)) {
			t.Errorf("%s: %q, %v, %v", args, out, live, err)
		}
	}
}

func TestWrong(t *testing.T) {
	for _, args := range []string{
		"--extcap-interface eth0 --extcap-dlts", "--extcap-interface flowdedup-eth9 --extcap-config", "--extcap-config",
		"--capture --extcap-interface flowdedup-eth0", "--extcap-interfaces --nonsense", "--extcap-interfaces word",
	} {
		if out, live, err := answer(args); !errors.Is(err, errUsage) || out != "" || live != nil {
			t.Errorf("%s: %q, %v, %v", args, out, live, err)
		}
	}
	if Asked([]string{"live", "-i", "eth0"}) || !Asked([]string{"--capture", "--extcap-interface", "x"}) {
		t.Error("Asked")
	}
}
