// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/bench/workload"
)

const (
	seed  = 1
	mixed = "mixed"
)

// capture is a file for the programs.
type capture struct {
	kind string
	what string
	file string
	list []line
	// flags are the flags that flowdedup's manual recommends for such a capture.
	flags []string
}

// listFile returns the name of a capture's list.
func listFile(capture string) string { return capture + ".csv" }

// makeAll makes a capture of each kind in a folder, each of about n records.
func makeAll(dir string, n int) ([]capture, error) {
	var all []capture
	for _, k := range kinds {
		c, err := k.make(dir, n)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	c, err := makeMixed(dir, n)
	return append(all, c), err
}

// make makes a capture of one kind and its list.
func (k *kind) make(dir string, n int) (capture, error) {
	name := k.name + ".pcap"
	if k.points > 1 {
		name = k.name + ".pcapng"
	}
	c := capture{kind: k.name, what: k.what, file: filepath.Join(dir, name), flags: k.flags}
	s := newScene(seed)
	k.film(s, n/2)
	c.list = s.list()
	file, err := os.Create(c.file)
	if err != nil {
		return c, err
	}
	defer file.Close()
	if err := s.write(file, k.points); err != nil {
		return c, fmt.Errorf("%s: %w", c.file, err)
	}
	return c, c.saveList()
}

func (c *capture) saveList() error {
	file, err := os.Create(listFile(c.file))
	if err != nil {
		return err
	}
	defer file.Close()
	return writeList(file, c.list)
}

// makeMixed makes a day of all kinds of copies, with the generator that measures speed.
func makeMixed(dir string, n int) (capture, error) {
	c := capture{kind: mixed, what: "a day of copies of four kinds: equal, routed, tagged, re-marked", file: filepath.Join(dir, mixed+".pcap")}
	file, err := os.Create(c.file)
	if err != nil {
		return c, err
	}
	defer file.Close()
	list, err := os.Create(listFile(c.file))
	if err != nil {
		return c, err
	}
	defer list.Close()
	config := workload.Default()
	config.Packets, config.Seed, config.Duration, config.Copies = int64(n), seed, 24*time.Hour, list
	config.Flows, config.Duplicates = max(100, n/20), 0.4
	if _, err := workload.Generate(file, config); err != nil {
		return c, err
	}
	c.list, err = readList(listFile(c.file))
	return c, err
}

// realCaptures returns the captures of real programs whose truth says which records show
// each packet.
func realCaptures(pcaps string) ([]capture, error) {
	var all []capture
	for _, r := range []struct{ name, ending, what string }{
		{"router-ordered", ".pcapng", "real: trunks and VLAN interfaces on both sides of a router"},
		{"mirror-vxlan", ".pcap", "real: both ends mirrored in VXLAN, checksums left to the card"},
		{"mirror-geneve", ".pcap", "real: the same in GENEVE, up to 0.25 ms late"},
	} {
		list, flags, err := sightings(filepath.Join(pcaps, r.name+".truth.json"))
		if err != nil {
			return nil, err
		}
		all = append(all, capture{kind: r.name, what: r.what, file: filepath.Join(pcaps, r.name+r.ending), list: list, flags: flags})
	}
	return all, nil
}
