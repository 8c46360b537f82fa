// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/strip"
)

// Output is the state of a file.
type Output struct {
	Name    string `json:"output"`
	Packets uint64 `json:"packets_out"`      // given less lost
	Bytes   uint64 `json:"bytes"`            // captured bytes of all that were given
	Lost    uint64 `json:"lost"`             // packets that were given and are not there
	Files   uint64 `json:"files,omitempty"`  // complete files of a rotation
	Failed  string `json:"failed,omitempty"` // why nothing goes there any more, or ""
	// Elsewhere are files of a rotation whose folder takes no name for them, with commas between.
	Elsewhere string `json:"elsewhere,omitempty"`
}

// Forward is the state of the interface that packets are sent to.
type Forward struct {
	Interface string `json:"interface"`
	afpacket.SenderStats
	Failed string `json:"failed,omitempty"` // why nothing goes there now, or ""
}

// List returns the state of every file. It is safe for concurrent use.
func (s *Set) List() []Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Output{}
	for _, o := range s.outputs {
		if _, ok := o.destination.(*forwarding); ok {
			continue
		}
		all = append(all, Output{
			Name: o.displayName(), Packets: o.given.packets - o.missing(), Bytes: o.given.bytes,
			Lost: o.missing(), Files: o.files, Failed: o.failedText(), Elsewhere: strings.Join(o.elsewhere, ", "),
		})
	}
	return all
}

// Forwarded returns the state of each interface that packets are sent to.
func (s *Set) Forwarded() []Forward {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []Forward{}
	for _, o := range s.outputs {
		if f, ok := o.destination.(*forwarding); ok {
			sent := f.Stats()
			if o.ended() {
				sent.Lost = o.missing() - sent.Skipped() // includes packets that it was not given
			}
			all = append(all, Forward{Interface: o.name, SenderStats: sent, Failed: o.failedText()})
		}
	}
	return all
}

// Complete reports whether no output for kept packets has lost any.
func (s *Set) Complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.outputs, func(o *output) bool { return !o.removed && o.missing() > 0 })
}

// displayName returns the name of an output's file, if that differs, or of the output.
func (o *output) displayName() string {
	if d, ok := o.destination.(*single); ok && d.live {
		return d.file.Name()
	}
	return o.name
}

// failedText returns why the output takes no packets now, or "".
func (o *output) failedText() string {
	if o.failed == nil {
		return ""
	}
	return o.failed.Error()
}

// Files returns how many files the outputs that rotate or are folders have written, nil without any.
func (s *Set) Files() *uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n *uint64
	for _, o := range s.outputs {
		switch o.destination.(type) {
		case *rotating, *folder:
			if n == nil {
				n = new(uint64)
			}
			*n += o.files
		}
	}
	return n
}

// Stripped returns how many packets lost headers, nil if none was to lose any.
func (s *Set) Stripped() *strip.Stats {
	if s.stripper == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stripped
	return &stats
}

// Sliced returns how many packets were cut, nil if all were to stay whole.
func (s *Set) Sliced() *strip.SliceStats {
	if s.slicer == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.sliced
	return &stats
}

// Skipped returns how many pcapng blocks no output could copy.
func (s *Set) Skipped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n uint64
	for _, o := range s.outputs {
		n = max(n, o.skipped)
	}
	return n
}
