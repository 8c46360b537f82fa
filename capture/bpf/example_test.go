// SPDX-License-Identifier: Apache-2.0

package bpf_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/flowdedup/flowdedup/capture/bpf"
)

// The program that `tcpdump -ddd arp` prints selects one of two frames.
func Example() {
	program, err := bpf.Parse(strings.NewReader("4\n40 0 0 12\n21 0 1 2054\n6 0 0 262144\n6 0 0 0\n"))
	if err != nil {
		log.Fatal(err)
	}
	arp, err := bpf.NewMachine(program)
	if err != nil {
		log.Fatal(err)
	}
	frame := make([]byte, 60)
	for _, ethertype := range []uint16{0x0806, 0x0800} {
		frame[12], frame[13] = byte(ethertype>>8), byte(ethertype)
		fmt.Println(arp.Run(frame, 60) > 0)
	}
	// Output:
	// true
	// false
}
