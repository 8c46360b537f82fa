package sink

import "github.com/flowdedup/flowdedup/capture/ring"

// Output is the state of a file.
type Output struct {
	Name           string
	Packets, Bytes uint64 // that it was given, less those lost; captured bytes
	Lost           uint64 // packets that it was given and that are not there
	Files          uint64 // complete ones, where it rotates
	Failed         string // why nothing goes there any more, or ""
}

// Forward is the state of the interface that kept packets are sent to.
type Forward struct {
	Interface string `json:"interface"`
	ring.SenderStats
	Failed string `json:"failed,omitempty"` // why nothing goes there now, or ""
}

// List returns the state of every file. Any goroutine may call it.
func (s *Set) List() []Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Output
	for _, o := range s.outputs {
		if _, ok := o.destination.(*forwarding); ok {
			continue
		}
		all = append(all, Output{
			Name: o.displayName(), Packets: o.given.packets - o.missing(), Bytes: o.given.bytes,
			Lost: o.missing(), Files: o.files, Failed: o.failedText(),
		})
	}
	return all
}

// Forwarded returns the state of the interface that is sent to, nil without.
func (s *Set) Forwarded() *Forward {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.outputs {
		if f, ok := o.destination.(*forwarding); ok {
			sent := f.Stats()
			if o.ended() {
				sent.Lost = o.missing() - sent.Truncated - sent.TooLong - sent.Refused // what it was not given too
			}
			return &Forward{Interface: o.name, SenderStats: sent, Failed: o.failedText()}
		}
	}
	return nil
}

// displayName returns the name of an output, or that of its file where it got another one.
func (o *output) displayName() string {
	if d, ok := o.destination.(*single); ok && d.live {
		return d.file.Name()
	}
	return o.name
}

// failedText returns why nothing goes there now, or "".
func (o *output) failedText() string {
	if o.failed == nil {
		return ""
	}
	return o.failed.Error()
}

// Files returns how many files the outputs that rotate have written, or nil if none
// rotates.
func (s *Set) Files() *uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n *uint64
	for _, o := range s.outputs {
		if _, ok := o.destination.(*rotating); ok {
			if n == nil {
				n = new(uint64)
			}
			*n += o.files
		}
	}
	return n
}

// Skipped returns how many pcapng blocks no output could carry over.
func (s *Set) Skipped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n uint64
	for _, o := range s.outputs {
		n = max(n, o.skipped)
	}
	return n
}
