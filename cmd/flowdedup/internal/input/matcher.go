// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
)

// snapLen is the value that programs return for a match. Only zero or not zero matters.
const snapLen = 262144

// maxLinkTypes is how many link types an expression is compiled for. Each costs a process
// and milliseconds, and only a hostile file has more of them.
const maxLinkTypes = 64

// MatcherConfig has the condition of a Matcher.
type MatcherConfig struct {
	Flag      string // of the condition; errors begin with it
	Condition Condition
	Inputs    []string // the names of inputs, by capture.Section.Input
	// InterfaceIndex returns the present index of an interface of this machine, 0 for
	// none: cooked headers have no names. It may be nil.
	InterfaceIndex func(name string) uint32
	// Warn gets link types that an expression has no meaning for. Admit calls it.
	Warn func(error)
}

// Matcher finds the packets of a stream that meet a condition. Admit and Compile are
// for one goroutine at a time. Other goroutines may call Match meanwhile.
type Matcher struct {
	cfg     MatcherConfig
	byLink  map[capture.LinkType]*test
	over    *test                   // serves all link types beyond maxLinkTypes
	tests   atomic.Pointer[[]*test] // by interface; nil before its first packet
	index   uint32                  // of the condition's interface
	started bool                    // there was a packet, or the expression is known to have a meaning
	err     error                   // of the first Admit that failed
	matched atomic.Bool
}

// test says whether packets of an interface match.
type test struct {
	link    capture.LinkType
	machine *bpf.Machine // packets that it accepts match
	all     uint64       // without a machine: all bits set if all packets match, else none
	refused error        // why the expression has no meaning
	warned  bool         // a warning says so
}

// all and none match all packets, and none.
var all, none = &test{all: math.MaxUint64}, &test{}

// NewMatcher makes a Matcher for a condition, which is not None.
func NewMatcher(cfg MatcherConfig) *Matcher {
	m := &Matcher{cfg: cfg, byLink: map[capture.LinkType]*test{}}
	m.over = &test{refused: fmt.Errorf("%s: only the first %d link types are filtered", cfg.Flag, maxLinkTypes)}
	m.tests.Store(new([]*test))
	return m
}

// Compile compiles an expression for a link type before there are packets. The error wraps
// bpf.ErrExpression if it has no meaning for them. If it has, no later link type ends the
// run.
func (m *Matcher) Compile(ctx context.Context, link capture.LinkType) error {
	if m.cfg.Condition.Filter.All() {
		return nil
	}
	t, err := m.ofLink(ctx, link)
	if err != nil {
		return err
	}
	m.started = m.started || t.refused == nil
	return t.refused
}

// Admit prepares to match a batch. The first packet of a link type compiles the
// expression, for the first maxLinkTypes of them. Batches must come in the order of the
// stream.
//
// Admit returns an error if the expression cannot be compiled, or has no meaning for the
// link type of the very first packet: then it wraps bpf.ErrExpression. A later packet of such a
// link type does not match, and Warn is called once.
func (m *Matcher) Admit(ctx context.Context, b *capture.Batch) error {
	m.followIndex(b)
	tests := *m.tests.Load()
	if missing := len(b.Interfaces) - len(tests); missing > 0 {
		tests = append(tests, make([]*test, missing)...)
		m.tests.Store(&tests)
	}
	if m.err != nil {
		return m.err
	}
	for i := range b.Frames {
		at := b.Frames[i].Interface
		if tests[at] != nil {
			continue
		}
		var t *test
		if t, m.err = m.ofInterface(ctx, b, &b.Interfaces[at]); m.err == nil && !m.started {
			m.err = t.refused
		}
		if m.err != nil {
			return m.err
		}
		m.started = true
		m.warn(t)
		tests[at] = t // no batch that is matched meanwhile has such packets
	}
	return nil
}

// warn says once which packets cannot match.
func (m *Matcher) warn(t *test) {
	switch {
	case t.refused == nil || t.warned:
		return
	case t == m.over:
		m.cfg.Warn(fmt.Errorf("no packet of further link types matches: %w", t.refused))
	default:
		m.cfg.Warn(fmt.Errorf("no packet of link type %v matches: %w", t.link, t.refused))
	}
	t.warned = true
}

// ofInterface returns the test for the packets of an interface.
func (m *Matcher) ofInterface(ctx context.Context, b *capture.Batch, iface *capture.Interface) (*test, error) {
	c := &m.cfg.Condition
	holds := false
	switch {
	case c.Input != "":
		holds = m.cfg.Inputs[b.Sections[iface.Section].Input] == inputName(c.Input)
	case c.Interface == "":
		return m.ofLink(ctx, iface.LinkType)
	case iface.Name == c.Interface:
		holds = true
	case iface.LinkType == capture.LinkLinuxSLL2 && m.index != 0:
		return ofIndex(m.index), nil
	}
	if holds {
		return all, nil
	}
	return none, nil
}

// inputName returns the name that a Source gives to an input of the command line.
func inputName(given string) string {
	if given == "-" {
		return "stdin"
	}
	return given
}

// ofIndex returns the test for packets whose cooked header (LINKTYPE_LINUX_SLL2) names an
// interface.
func ofIndex(index uint32) *test {
	const load32, jumpEqual, accept = 0x20, 0x15, 0x06
	machine, err := bpf.NewMachine([]xbpf.RawInstruction{{Op: load32, K: 4}, {Op: jumpEqual, Jf: 1, K: index}, {Op: accept, K: snapLen}, {Op: accept}})
	if err != nil {
		panic("input: " + err.Error()) // it is right for every index
	}
	return &test{machine: machine}
}

// followIndex looks up the index of the condition's interface. If it has changed, cooked
// packets need a new test.
func (m *Matcher) followIndex(b *capture.Batch) {
	if m.cfg.InterfaceIndex == nil || m.cfg.Condition.Interface == "" {
		return
	}
	now := m.cfg.InterfaceIndex(m.cfg.Condition.Interface)
	if now == m.index {
		return
	}
	m.index = now
	tests := slices.Clone(*m.tests.Load())
	for i := range tests {
		if b.Interfaces[i].LinkType == capture.LinkLinuxSLL2 {
			tests[i] = nil
		}
	}
	m.tests.Store(&tests)
}

// ofLink returns the test for packets of a link type. A given program serves all types.
func (m *Matcher) ofLink(ctx context.Context, link capture.LinkType) (*test, error) {
	if len(m.cfg.Condition.Filter.Program) > 0 {
		link = 0
	}
	t := m.byLink[link]
	switch {
	case t != nil:
		return t, nil
	case len(m.byLink) == maxLinkTypes:
		return m.over, nil
	}
	t = &test{link: link}
	if err := m.compile(ctx, t); err != nil {
		return nil, err
	}
	m.byLink[link] = t
	return t, nil
}

// compile makes the machine of a test. It fails if the compiler cannot be run.
func (m *Matcher) compile(ctx context.Context, t *test) error {
	program, err := m.cfg.Condition.Filter.For(ctx, t.link, snapLen, "")
	if errors.Is(err, bpf.ErrExpression) {
		t.refused = fmt.Errorf("%s: %w", m.cfg.Flag, err)
		return nil
	}
	if err == nil {
		t.machine, err = bpf.NewMachine(program)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bpf.ErrNoCompiler) && m.cfg.Flag == filterFlag:
		err = fmt.Errorf("%w (--bpf-file)", err)
	case errors.Is(err, bpf.ErrNoCompiler):
		err = errors.New("expressions need tcpdump, which is not installed; interface NAME and input NAME do without it")
	}
	return fmt.Errorf("%s: %w", m.cfg.Flag, err)
}

// Match sets bit i of chosen, counted from from, for each packet of from to to-1 that
// matches, and clears the other bits of these words. The batch was admitted, and from is a
// multiple of 64. An expression takes some 10 ns a packet. No packet matches if Admit
// failed.
func (m *Matcher) Match(chosen []uint64, b *capture.Batch, from, to int) {
	tests := *m.tests.Load()
	known, t := uint32(math.MaxUint32), none
	any := uint64(0)
	for w := 0; from < to; w++ {
		end := min(from+64, to)
		word, bit := uint64(0), uint64(1)
		for i := from; i < end; i++ {
			frame := &b.Frames[i]
			if frame.Interface != known {
				known, t = frame.Interface, none
				if admitted := tests[known]; admitted != nil {
					t = admitted
				}
			}
			switch {
			case t.machine == nil:
				word |= bit & t.all
			case t.machine.Run(b.Data(i), frame.WireLen) != 0:
				word |= bit
			}
			bit <<= 1
		}
		chosen[w] = word
		any |= word
		from = end
	}
	if any != 0 && !m.matched.Load() {
		m.matched.Store(true)
	}
}

// Matched reports whether any packet matched.
func (m *Matcher) Matched() bool { return m.matched.Load() }

// String returns the flag and the condition.
func (m *Matcher) String() string { return m.cfg.Flag + " " + m.cfg.Condition.String() }
