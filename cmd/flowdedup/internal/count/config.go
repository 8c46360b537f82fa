// SPDX-License-Identifier: Apache-2.0

package count

import (
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// Config has the keys and windows of the counts. The caller has checked everything in it.
type Config struct {
	Keys  []keys.Config
	Inner bool
	// Tunnels are the UDP ports of tunnels that Inner opens; nil are the usual ones.
	Tunnels *headers.Tunnels

	// Config has the windows, the method and its memory. The counter sets Implies and Emit, and
	// the fields that this type has with other types.
	windows.Config

	// Rows gets the counts of each window when it closes. It must not keep the slice.
	Rows func([]Row) error
	// Total has Rows get the counts of the whole input at the end, and Gaps rows for windows
	// without packets: see Row.
	Total, Gaps bool
	// Save takes the content of saved windows, as windows.Config says; nil for nothing.
	Save func(window countfile.Span, all []windows.SavedSeries) error
	// FirstSeen gets each first sighting, in the order of the stream and within a packet
	// in the order of Keys. It may be nil.
	FirstSeen func(*First) error
}

// counters returns the configuration of the counters, whose counts become rows.
func (c *Config) counters(rows *rowMaker) *windows.Config {
	all := make([]windows.Key, len(c.Keys))
	for i, k := range c.Keys {
		all[i] = windows.Key{Name: k.Kind.String(), MAC: k.Kind == keys.MACs, PerPacket: 1}
		if k.Kind == keys.IP || k.Kind == keys.MACs {
			all[i].PerPacket = 2
		}
	}
	m := c.Config
	m.Keys, m.Implies, m.FirstSeen, m.Emit = all, c.implies, c.FirstSeen != nil, rows.window
	if c.Save != nil {
		m.Save = rows.save
	}
	if c.Total {
		m.Total = rows.total
	}
	return &m
}

// LeastBudget returns the least Budget that can be kept.
func (c *Config) LeastBudget() int { return c.counters(&rowMaker{}).LeastBudget() }

// implies is windows.Config.Implies. Other keys are made from keys of two addresses.
func (c *Config) implies(i, j int) bool {
	return i == j || c.Keys[i].Kind >= keys.Pair && c.Keys[i].Determines(c.Keys[j])
}

func (c *Config) zone() *time.Location {
	if c.Calendar.Location == nil {
		return time.UTC
	}
	return c.Calendar.Location
}

// hasPorts reports whether ports are part of a key.
func hasPorts(k keys.Config) bool { return k.Kind == keys.Flow || k.Kind == keys.Biflow }

// keyers returns the keyers of some of the keys.
func (c *Config) keyers(numbers []int) *keys.Keyer {
	configs := make([]keys.Config, len(numbers))
	for i, key := range numbers {
		configs[i] = c.Keys[key]
	}
	return keys.NewKeyer(configs, headers.DecoderConfig{Inner: c.Inner, Tunnels: c.Tunnels})
}

// digesters holds a keyed digest per family, so that no key of one family equals one of
// another.
type digesters struct {
	v4, v6, mac *digest.AES
}

func newDigesters(s engine.Secret) digesters {
	return digesters{
		v4:  digest.NewAES(s.AESKey(engine.UseIPv4)),
		v6:  digest.NewAES(s.AESKey(engine.UseIPv6)),
		mac: digest.NewAES(s.AESKey(engine.UseMAC)),
	}
}
