// SPDX-License-Identifier: Apache-2.0

package windows_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// The addresses of each hour, of both versions, from a program's own stream.
func ExampleCounter() {
	key, err := engine.RandomSecret()
	if err != nil {
		log.Fatal(err)
	}
	cfg := windows.Config{
		Keys:     []windows.Key{{Name: "address", PerPacket: 1}},
		Calendar: calendar.Calendar{Every: time.Hour},
		Secret:   key,
		Emit: func(start, _ int64, counts []windows.Count) error {
			for _, c := range counts {
				fmt.Println(time.Unix(0, start).UTC().Format("15:04"), c.Family, c.Distinct, "of", c.Packets)
			}
			return nil
		},
	}
	if err := cfg.Check(); err != nil {
		log.Fatal(err)
	}
	counter := windows.New(&cfg)

	minute := int64(time.Minute)
	times := []int64{1 * minute, 2 * minute, 3 * minute, 61 * minute}
	addresses := []string{"192.0.2.1", "2001:db8::1", "192.0.2.1", "2001:db8::2"}

	batch := counter.NewBatch() // for thousands at a time
	batch.Reset(times)
	var v4 []uint32       // bare addresses
	var v6 [][16]byte     // to digest
	var of4, of6 []uint32 // the packets they come from
	for i, text := range addresses {
		if a := netip.MustParseAddr(text); a.Is4() {
			bytes := a.As4()
			v4, of4 = append(v4, binary.BigEndian.Uint32(bytes[:])), append(of4, uint32(i))
		} else {
			v6, of6 = append(v6, a.As16()), append(of6, uint32(i))
		}
	}
	elements := batch.Elements(0) // of the first key
	copy(elements.Addr4.Add(of4, 0), v4)
	digest.NewAES(key.AESKey(engine.UseOwn)).Sum16(elements.V6.Add(of6, 0), v6)
	if err := counter.Count(batch, nil); err != nil {
		log.Fatal(err)
	}
	if err := counter.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 00:00 ipv4 1 of 2
	// 00:00 ipv6 1 of 1
	// 00:00 all 2 of 3
	// 01:00 ipv4 0 of 0
	// 01:00 ipv6 1 of 1
	// 01:00 all 1 of 1
}
