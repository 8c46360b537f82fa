// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/gopacket/gopacket/afpacket"
)

// live passes a job the packets of an interface, through a TPACKET_V3 ring of 64 MiB,
// until SIGINT.
func live(name string, j job, out io.Writer) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	ring, err := afpacket.NewTPacket(afpacket.OptInterface(name), afpacket.OptTPacketVersion(afpacket.TPacketVersion3),
		afpacket.OptBlockSize(1<<20), afpacket.OptNumBlocks(64), afpacket.OptBlockTimeout(10*time.Millisecond),
		afpacket.OptPollTimeout(20*time.Millisecond))
	if err != nil {
		return err
	}
	defer ring.Close()
	if err := readRing(ring, j, interrupts); err != nil {
		return err
	}
	_, stats, err := ring.SocketStats()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d dropped\n", stats.Drops())
	return err
}

// readRing reads until an interrupt comes while there are no packets.
func readRing(ring *afpacket.TPacket, j job, interrupts <-chan os.Signal) error {
	for p := newParser(); ; {
		frame, info, err := ring.ZeroCopyReadPacketData()
		switch {
		case errors.Is(err, afpacket.ErrTimeout):
			select {
			case <-interrupts:
				return nil
			default:
			}
		case err != nil:
			return err
		case p.parse(frame):
			j.add(info.Timestamp.UnixNano(), p)
		}
	}
}
