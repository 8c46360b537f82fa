// SPDX-License-Identifier: Apache-2.0

package afpacket_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine/window"
)

// The packets of an interface, each once within 10 ms, to the standard output until Ctrl-C.
// Stop ends the capture: packets that wait in the rings are still written.
func ExampleOpen() {
	live, err := afpacket.Open(afpacket.Config{Interfaces: []string{"eth1"}, Promiscuous: true})
	switch {
	case errors.Is(err, afpacket.ErrNotPermitted):
		log.Fatal("run it as root: ", err)
	case err != nil:
		log.Fatal(err)
	}
	packets := pipeline.New(live) // owns live, and closes it
	defer packets.Close()
	detector, err := dedup.New(dedup.Config{
		Window: window.Window{Duration: 10 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer detector.Close()

	interrupted, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	context.AfterFunc(interrupted, live.Stop)

	w := pcapfile.NewWriter(os.Stdout, pcapfile.WriterOptions{})
	err = packets.Run(context.Background(), runtime.NumCPU(), detector.Tasks(w))
	if err = errors.Join(err, w.Close()); err != nil {
		log.Print(err)
	}
	counts := detector.Counts()
	fmt.Fprintln(os.Stderr, counts.Packets, "packets,", counts.Copies, "copies")
	for _, ring := range live.Stats() {
		fmt.Fprintln(os.Stderr, ring.Interface, ring.Ring, "lost", ring.Dropped)
	}
}
