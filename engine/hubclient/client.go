// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"math/bits"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/flowdedup/flowdedup/asm/digest"
)

const (
	// batchDigests is where the cost of a digest is low, and its wait still short.
	batchDigests = 1024
	// batchDelay is how long digests wait for others to go with them, and thinDelay how long
	// fewer than thinDigests do.
	batchDelay  = time.Millisecond
	thinDelay   = 5 * time.Millisecond
	thinDigests = 256
	// maxWindow is how many requests to a slice are on their way at a time.
	maxWindow = 8
	// maxTries is how often a request is sent at most, if nothing is heard.
	maxTries = 4
	// noOwnerDelay is how long after the first "nobody has the slice" a request is sent
	// again. It doubles up to 128 ms.
	noOwnerDelay = 2 * time.Millisecond
	// breakAfter is after how many failures in a row a slice is asked no more, but by one
	// request each probeEvery.
	breakAfter = 3
	probeEvery = 500 * time.Millisecond
	// reportEvery is the time between reports.
	reportEvery = 2 * time.Second
	// lateLeeway is how long after the last wait a slice may still take a request: clocks
	// of sites and slices differ.
	lateLeeway = time.Second
	// maxBehind is how far a busy capture may be behind its packets. Times further back are
	// not those of a capture.
	maxBehind = 10 * time.Second
)

// Transport carries messages to the hub. Its methods do not wait, and do not call back.
type Transport interface {
	// Send sends a message, of which it keeps nothing. An answer goes to Client.Receive
	// with the subject reply, as does the word that nobody takes the message. An empty
	// reply asks for neither.
	Send(subject, reply string, msg []byte) error
	// Connected reports whether there is a connection, as far as is known.
	Connected() bool
}

// ClientConfig configures NewClient.
type ClientConfig struct {
	Token Token
	// Wait is how long a packet waits for an answer at most.
	Wait time.Duration
	// Block makes Ask wait for its turn, where otherwise packets pass unchecked: for inputs
	// that wait, such as files.
	Block bool
	// Anytime is for packets whose times may be long ago though nothing blocks, as where a hub
	// asks another one for its sites: requests have no deadline.
	Anytime bool
	// Closed makes packets copies that no answer comes for. They count as unchecked all the same.
	Closed bool
	// Notice, if not nil, is told when the hub stops to answer, and why, in a few words. It
	// is told "" when the hub begins again.
	Notice func(reason string)
}

// Client asks the hub about digests. It splits them by slice, and collects up to 1024 of
// each, or for a millisecond, or for up to 5 if these are few. It is for several goroutines.
//
// A request that gets no answer within Wait leaves its packets unchecked. One that nobody
// took is sent again. So is one without an answer, with the same number. Where a slice
// fails three times in a row, packets pass unchecked at once, and one request each half
// second tries whether it is back.
type Client struct {
	cfg   ClientConfig
	to    Transport
	now   func() time.Duration // since the start
	inbox string               // of the run, so that answers to an earlier one are not taken

	mu        sync.Mutex
	progress  sync.Cond // something was answered or given up
	slices    []slice
	free      []*request
	msg       []byte // of the request that is sent
	collected int    // slices that collect
	inFlight  int    // requests
	stats     ClientStats
	rtt, all  *hdrhistogram.Histogram // microseconds, since the last report and in all
	report    Report                  // the caller's part
	reportAt  time.Duration
	ticked    time.Duration
	failure   string // why it fails, as the last notice said, or ""
	reason    string // why requests failed
	pong      error  // what the answer to a Ping said
	closed    bool
	abandoned bool
	idle      bool // nothing runs until wake
	wake      chan struct{}
	done      chan struct{}
}

// ClientStats counts packets in its first three fields.
type ClientStats struct {
	Asked     uint64 // all
	Copies    uint64 // that another site has sent before
	Unchecked uint64 // that no answer came for
	Late      uint64 // answers that came too late
	Invalid   uint64 // messages that are no answer to a request, or of a former owner
	Refused   uint64 // requests that the hub refused
	Retries   uint64 // requests that were sent again
	// DelayP50 and DelayP99 are times that 50 % and 99 % of answers took at most.
	DelayP50, DelayP99 time.Duration
}

// NewClient makes a client. run names this run of the site among all, such as by its time.
// It must be a word of a subject.
func NewClient(cfg ClientConfig, to Transport, run string) *Client {
	begin := time.Now()
	c := newClient(cfg, to, run, begin, func() time.Duration { return time.Since(begin) })
	go c.work()
	return c
}

// newClient makes a client that nothing runs. now is the time since begin.
func newClient(cfg ClientConfig, to Transport, run string, begin time.Time, now func() time.Duration) *Client {
	c := &Client{
		cfg: cfg, to: to, now: now, inbox: Inbox(cfg.Token.Site) + "." + run + ".",
		slices: make([]slice, cfg.Token.Slices),
		rtt:    newHistogram(), all: newHistogram(), reportAt: reportEvery,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.progress.L = &c.mu
	c.report.Run = run
	for i := range c.slices {
		c.slices[i] = slice{
			number: i, subject: c.subject(i, TestAndSet).String(), seq: uint64(begin.UnixNano()), window: maxWindow,
		}
	}
	return c
}

// newHistogram returns a histogram of microseconds, of two digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 2)
}

// subject returns where requests to a slice go.
func (c *Client) subject(slice int, op Op) Subject {
	t := &c.cfg.Token
	return Subject{Namespace: t.Namespace, Filter: t.Filter, Epoch: t.Epoch, Slice: slice, Op: op, Site: t.Site}
}

// Inbox returns the subject that answers come to, with a wildcard.
func (c *Client) Inbox() string { return c.inbox + ">" }

// Answers are what the hub says of the packets of one batch. The zero value is ready. Its
// content belongs to the Client until Client.Ready or Wait says that all is known.
type Answers struct {
	// Copies has a bit for each packet that another site has sent before.
	Copies []uint64
	// Unchecked counts the packets that no answer came for.
	Unchecked int
	// Done, if not nil, is called once all is known. It must neither wait, nor call the Client.
	Done    func()
	pending int
}

// settle takes packets off those whose answers are pending.
func (a *Answers) settle(packets int) {
	if a.pending -= packets; a.pending == 0 && a.Done != nil {
		a.Done()
	}
}

// Ask asks about the packets of a batch but those whose bit in skip is set. times are in
// nanoseconds of the Unix epoch. Packets without a time, or with one before 1970 or after 2255,
// are left unchecked. Batches must
// come in the order of their stream. The Client keeps neither digests nor times.
func (c *Client) Ask(a *Answers, digests []digest.Digest, times []int64, skip []uint64) {
	c.ask(a, len(digests), times, skip, func(i int) (uint64, *slice) {
		d := digests[i][0]
		return d, &c.slices[sliceOf(d, len(c.slices))]
	})
}

// AskSlice is Ask for digests that are all of one slice, by its number. Those bits that choose it
// may be missing. A number that no slice has panics.
func (c *Client) AskSlice(a *Answers, number int, digests []uint64, times []int64, skip []uint64) {
	s := &c.slices[number]
	c.ask(a, len(digests), times, skip, func(i int) (uint64, *slice) { return digests[i], s })
}

// ask asks about n packets. of returns the digest of one, and its slice.
func (c *Client) ask(a *Answers, n int, times []int64, skip []uint64, of func(i int) (uint64, *slice)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.Copies, a.Unchecked, a.pending = resize(a.Copies, (n+63)/64), 0, 1 // until all are asked about
	clear(a.Copies)
	now := c.now()
	closed := !c.cfg.Block && !c.to.Connected()
	for w := range a.Copies {
		todo := ^skip[w]
		if rest := n - 64*w; rest < 64 {
			todo &= 1<<rest - 1
		}
		c.stats.Asked += uint64(bits.OnesCount64(todo))
		for ; todo != 0; todo &= todo - 1 {
			i := 64*w + bits.TrailingZeros64(todo)
			d, s := of(i)
			if closed || c.abandoned || !askable(times[i]) || s.broken(now) {
				c.unchecked(a, uint32(i))
				continue
			}
			a.pending++
			at := units(times[i])
			for s.next != nil && !s.next.fits(at) {
				now = c.send(s)
			}
			if s.next == nil {
				c.begin(s, at, now)
			}
			if s.next.add(d, at, a, i); s.next.count == batchDigests {
				now = c.send(s)
			}
		}
	}
	a.settle(1)
	c.arm()
}

// askable reports whether a request can have the time of a packet, which a file may have made
// up. calendar.NoTime is none.
func askable(t int64) bool { return uint64(t) < (MaxTime-maxDelta*DeltaUnit)*uint64(time.Microsecond) }

// unchecked counts packets that no answer comes for, by their places in the batch.
func (c *Client) unchecked(a *Answers, places ...uint32) {
	a.Unchecked += len(places)
	c.stats.Unchecked += uint64(len(places))
	if c.cfg.Closed {
		for _, i := range places {
			a.Copies[i/64] |= 1 << (i % 64)
		}
	}
}

// Ready reports whether all is known of a batch. Then the Answers are the caller's.
func (c *Client) Ready(a *Answers) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.pending == 0
}

// Wait waits until all is known of a batch: at most as long as packets wait.
func (c *Client) Wait(a *Answers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.pending > 0 {
		c.sendAll()
	}
	for a.pending > 0 {
		c.progress.Wait()
	}
}

// Flush sends what was collected.
func (c *Client) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendAll()
}

// Count adds to the packets that reports tell of: all, and copies by the local filter.
func (c *Client) Count(packets, copies uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Packets += packets
	c.report.CopiesLocal += copies
}

// Stats returns the counts so far.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.DelayP50 = time.Duration(c.all.ValueAtQuantile(50)) * time.Microsecond
	s.DelayP99 = time.Duration(c.all.ValueAtQuantile(99)) * time.Microsecond
	return s
}

// Failing returns why the hub does not answer, in a few words, or "".
func (c *Client) Failing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Abandon gives up what is pending. What is asked from then on stays unchecked.
func (c *Client) Abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandon()
}

func (c *Client) abandon() {
	c.abandoned = true
	for i := range c.slices {
		c.slices[i].giveUp(c)
	}
	c.progress.Broadcast()
}

// Close abandons what is pending, and sends the last report. The transport stays open.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.abandon()
	c.sendReport()
	c.mu.Unlock()
	c.wakeUp()
	<-c.done
}
