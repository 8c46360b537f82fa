// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"errors"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for name, want := range map[string]string{
		"tcp://sensor:57012":                "sensor:57012",
		"tcp://[::1]:1":                     "[::1]:1",
		"tcp-listen://:57012":               "127.0.0.1:57012",
		"tcp-listen://0.0.0.0:0":            "0.0.0.0:0",
		"tcp-listen://[2001:db8::1]:1":      "[2001:db8::1]:1",
		"tcp://h:1?format=pcap":             "h:1",
		"tcp-listen://:1?format=pcapng":     "127.0.0.1:1",
		"tcp://h:1?":                        "h:1",
		"tcp://h:1?format=":                 "",
		"tcp://h:1?format=erf":              "",
		"tcp://h:1?format=pcap&format=pcap": "",
		"tcp://h:1?speed=fast":              "",
		"tcp://h:1?format=%zz":              "",
		"tcp://sensor":                      "",
		"tcp://:57012":                      "",
		"tcp://sensor:0":                    "",
		"tcp://sensor:70000":                "",
		"tcp://sensor:http":                 "",
		"tcp-listen://":                     "",
		"tcp-listen://57012":                "",
		"udp://sensor:1":                    "",
		"span.pcap":                         "",
	} {
		a, err := ParseAddress(name)
		if (err == nil) != (want != "") || err == nil && a.host != want || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %q, %v, want %q", name, a.host, err, want)
		}
	}
}

// TestParseInput refuses a format of what comes.
func TestParseInput(t *testing.T) {
	if _, err := ParseInput("tcp://sensor:1"); err != nil {
		t.Error(err)
	}
	if _, err := ParseInput("tcp://sensor:1?format=pcap"); !errors.Is(err, ErrAddress) {
		t.Errorf("%v", err)
	}
}
