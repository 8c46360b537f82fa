// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// ErrParent is wrapped by the errors about the hub above in a tree.
var ErrParent = errors.New("the hub above")

const (
	// ParentWait is the default time that the hub above may take: half of what live
	// sensors wait.
	ParentWait = 10 * time.Millisecond
	// maxClimbing is how many requests wait for the hub above at a time.
	maxClimbing = 4096
)

// parent is the connection to the hub above. It asks there about new elements, as the
// site of the token. The slice there follows from the slice here: see
// Settings.CheckParent.
type parent struct {
	token   hubclient.Token
	link    *natslink.Link
	client  *hubclient.Client
	log     Logger
	done    chan *climber // requests whose verdicts are all known; it has room for all that wait
	ended   sync.WaitGroup
	waiting atomic.Int64
	sparse  bool
	treeCounts
}

// treeCounts are a hub's counts of the tree. They begin with the process.
type treeCounts struct {
	digests, hits, asked, hitsAbove, unchecked, sets, probes, messages, bytes atomic.Uint64
}

// CheckParent checks how the filter fits the hub's above. Errors wrap ErrParent.
//
// Sensors send only the bits of a digest that do not choose its slice. So the slice here must
// determine the slice above: the number of slices that sensors send to is a multiple of the
// number above.
func (s *Settings) CheckParent() error {
	if s.Parent == "" {
		return nil
	}
	token, err := hubclient.DecodeToken(s.Parent)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrParent, err)
	case s.entries()%token.Slices != 0:
		return fmt.Errorf("%w has %d slices that sites send to: %d here are no multiple of that", ErrParent, token.Slices, s.entries())
	case s.Shape.Filter == chain.Events:
		return fmt.Errorf("%w: a window of events counts the events of one filter, so it excludes a tree", ErrParent)
	case s.Journal && s.holds():
		return fmt.Errorf("%w: a journal has no answers from there, so it goes without %s", ErrParent, chain.FirstTestThenSet)
	case s.Dense && s.Shape.Filter != chain.Timers:
		return fmt.Errorf("%w: its answers say how long an element is known for a filter of %s only", ErrParent, chain.Timers)
	case s.ParentWaitUS < 1:
		return fmt.Errorf("%w: a wait of %d us", ErrParent, s.ParentWaitUS)
	}
	return nil
}

// SetParent takes the settings that all hubs of a tree share from the token of the hub
// above. It reports whether tokens of this hub became invalid.
func (s *Settings) SetParent(token hubclient.Token) (invalid bool) {
	before := s.token("", "")
	s.Parent = token.Encode()
	s.Key, s.Identity, s.Ignore, s.Within, s.Tunnels, s.WindowUS = token.Key, token.Identity, token.Ignore, token.Within, token.Tunnels, token.WindowUS
	if s.Shape.Filter == chain.Timers {
		s.Shape.WindowUS = s.WindowUS
	}
	after := s.token("", "")
	return before.Encode() != after.Encode()
}

// holds reports whether elements that are new here are set only once the hub above has answered.
func (s *Settings) holds() bool {
	return s.Parent != "" && (s.Shape.Primitive == chain.FirstTestThenSet || s.Shape.Filter == chain.Timers)
}

// closed reports whether elements that the hub above does not answer for count as copies.
func (s *Settings) closed() bool { return !s.Shape.Rows() && s.Shape.AtLeast == 0 }

// openParent connects to the hub above, and returns nil if there is none. An unreachable hub
// is no error: it is tried again.
func openParent(s *Settings, id uint64, log Logger) (*parent, error) {
	if s.Parent == "" {
		return nil, nil
	}
	if err := s.CheckParent(); err != nil {
		return nil, err
	}
	token, err := hubclient.DecodeToken(s.Parent)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParent, err)
	}
	p := &parent{token: token, log: log, done: make(chan *climber, maxClimbing), sparse: s.holds() && !s.Dense}
	link, unreached, err := natslink.Dial(token, func(err error) { log.Warn(fmt.Sprintf("%v: %v", ErrParent, err)) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParent, err)
	}
	p.link = link
	p.client = hubclient.NewClient(hubclient.ClientConfig{
		Token: token, Wait: time.Duration(s.ParentWaitUS) * time.Microsecond, Anytime: true, Hub: id, Closed: s.closed(), Notice: p.notice,
		Remaining: s.Dense && s.Shape.Filter == chain.Timers,
	}, p, strconv.FormatInt(time.Now().UnixNano(), 36))
	p.ended.Go(p.finish)
	if err = link.Listen(p.client.Inbox(), p.client.Receive); err == nil && unreached == nil {
		err = p.client.Ping()
	}
	switch {
	case unreached != nil:
		log.Warn(fmt.Sprintf("%v: %s cannot be reached (%v): packets that are new here stay unchecked until it can", ErrParent, token.URL, unreached))
	case errors.Is(err, hubclient.ErrSilent) && link.Denied():
		err = natslink.ErrToken
	case errors.Is(err, hubclient.ErrSilent):
		log.Warn(fmt.Sprintf("%v: %s takes connections, but no hub answers there: packets that are new here stay unchecked until one does", ErrParent, token.URL))
		err = nil
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("%w: %w", ErrParent, err)
	}
	return p, nil
}

// notice logs a change of the connection.
func (p *parent) notice(reason string) {
	if reason == "" {
		p.log.Log(ErrParent.Error() + " answers again")
		return
	}
	p.log.Warn(fmt.Sprintf("%v does not answer (%s): packets that are new here stay unchecked until it does", ErrParent, reason))
}

// Send and Connected implement hubclient.Transport.
func (p *parent) Send(subject, reply string, msg []byte) error {
	err := p.link.Send(subject, reply, msg)
	if err == nil && reply != "" { // other messages are reports
		p.messages.Add(1)
		p.bytes.Add(uint64(len(msg)))
	}
	return err
}

func (p *parent) Connected() bool { return p.link.Connected() }

// finish gives sites the answers that wait for nothing more, until close.
func (p *parent) finish() {
	for c := range p.done {
		c.owner.landed(c)
		p.waiting.Add(-1)
	}
}

// close ends the connection. Nothing may be asked any more.
func (p *parent) close() {
	if p == nil {
		return
	}
	p.client.Close() // all waiting requests are done
	close(p.done)
	p.ended.Wait()
	p.link.Close()
}
