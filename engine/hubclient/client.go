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
	// batchDigests is a size at which the cost of a digest is low, and its wait still
	// short.
	batchDigests = 1024
	// batchDelay is the time that digests wait for others to go with them. Fewer than thinDigests
	// for a slice go in a bundle with digests for other slices, or wait thinDelay if the hub takes none.
	// Ask sends what has waited. pauseDelay is the time until a stream that pauses counts as such, and
	// its rest goes too: a timer for each batchDelay would cost more than the digests do.
	batchDelay  = 1500 * time.Microsecond
	pauseDelay  = 2 * time.Millisecond
	thinDelay   = 5 * time.Millisecond
	thinDigests = 256
	// maxWindow bounds the requests to a slice that are under way.
	maxWindow = 8
	// crowd is how many digests may be under way, if Ask can wait and they delay each other: it keeps a
	// hub busy for some milliseconds.
	crowd = 8 * batchDigests
	// maxTries bounds the transmissions of a request that gets no answer.
	maxTries = 4
	// noOwnerDelay is the time from the first "nobody has the slice" until a request is
	// sent again. It doubles up to 128 ms.
	noOwnerDelay = 2 * time.Millisecond
	// breakAfter is the number of failures in a row after which a slice is not asked any
	// more, except by one request each probeEvery.
	breakAfter = 3
	probeEvery = 500 * time.Millisecond
	// reportEvery is the time between reports.
	reportEvery = 2 * time.Second
	// lateLeeway is the time after the last wait during which a slice may still take a
	// request: clocks of sites and slices differ.
	lateLeeway = time.Second
	// reconnectWait is a wait that is long enough for another connection.
	reconnectWait = 2 * time.Second
	// maxBehind bounds how much a busy capture may lag behind its packets. Times further
	// back are not from a live capture.
	maxBehind = 10 * time.Second
)

// Transport carries messages to the hub. Its methods do not wait, and do not call back.
type Transport interface {
	// Send sends a message, and keeps no reference to it. An answer goes to
	// Client.Receive with the subject reply, and so does the notice that nobody takes the
	// message. An empty reply requests neither.
	Send(subject, reply string, msg []byte) error
	// Connected reports whether there is a connection, as far as is known.
	Connected() bool
}

// ClientConfig configures NewClient.
type ClientConfig struct {
	Token Token
	// Wait bounds the time that a packet waits for an answer.
	Wait time.Duration
	// Block makes Ask wait for its turn, where otherwise packets pass unchecked: for
	// inputs that can wait, such as files.
	Block bool
	// Anytime is for packets whose times may be long ago although nothing blocks, as when
	// a hub asks another hub for its sites: requests have no deadline. If Wait is at least two
	// seconds, packets also wait for a new connection where theirs is cut; else they stay unchecked
	// at once.
	Anytime bool
	// Closed makes packets without an answer copies, once it is known that the hubs are no ring. They
	// count as unchecked all the same.
	Closed bool
	// Remaining asks for Answers.Remaining.
	Remaining bool
	// Hub is the identity of a hub below another hub, in DigestBits: Ping checks TreeVersion, too,
	// and packets stay unchecked until the way up is known to end. It is 0 for sensors.
	Hub uint64
	// Notice, if not nil, is called with a short reason when the hub stops answering. It
	// is called with "" when the hub answers again.
	Notice func(reason string)
}

// Client asks the hub about digests. It splits them by slice, and collects up to 1024 for
// each slice, for at most pauseDelay where the hub is near. It is safe for concurrent use.
//
// A request without an answer within Wait leaves its packets unchecked. A request that nobody
// took, or that gets no answer, is sent again with the same number. If a slice fails three
// times in a row, packets pass unchecked at once, and one request each half second, and after each
// late answer, probes whether the slice is back.
type Client struct {
	cfg           ClientConfig
	to            Transport
	now           func() time.Duration // time since the start
	bundleSubject string
	inbox         string // names the run, so that answers to an earlier run are not taken

	mu        sync.Mutex
	progress  sync.Cond // something was answered or given up
	slices    []slice
	free      []*request
	msg       []byte        // of the request that is sent
	bundle    []byte        // to be posted
	packed    int           // least slice that may still come into the bundle
	flushed   time.Duration // when bundles were due last
	took      time.Duration // an average of the last answers
	least     time.Duration // that an answer took since the last report
	underWay  int           // digests
	collected int           // slices that are collecting
	inFlight  int           // requests
	stats     ClientStats
	rtt, all  *hdrhistogram.Histogram // microseconds, since the last report and in total
	report    Report                  // the caller's part
	reportAt  time.Duration
	timer     *time.Timer
	due       time.Duration // when the timer ends, for the next tick
	failure   string        // reason of the failure in the last notice, or ""
	reason    string        // reason why requests failed
	pong      error         // result of a Ping
	way       way
	wakes     func() // see Answered
	closed    bool
	abandoned bool
	done      chan struct{}
}

// ClientStats counts packets in its first three fields.
type ClientStats struct {
	Asked     uint64 // packets in total
	Copies    uint64 // packets that another site has sent before
	Unchecked uint64 // packets without an answer
	Late      uint64 // answers that came too late
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
		rtt:    newHistogram(), all: newHistogram(), took: cfg.Wait, least: cfg.Wait, reportAt: reportEvery,
		timer: time.NewTimer(0), done: make(chan struct{}),
		way: way{self: cfg.Hub, at: wayEvery, waits: map[uint64]question{}},
	}
	c.progress.L = &c.mu
	c.bundleSubject = c.subject(allSlices, TestAndSet).String()
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

// subject returns the subject of requests to a slice.
func (c *Client) subject(slice int, op Op) Subject {
	t := &c.cfg.Token
	return Subject{Namespace: t.Namespace, Filter: t.Filter, Epoch: t.Epoch, Slice: slice, Op: op, Site: t.Site}
}

// Inbox returns the subject that answers come to, with a wildcard.
func (c *Client) Inbox() string { return c.inbox + ">" }

// Answers are the hub's verdicts on the packets of one batch. The zero value is ready.
// Its content belongs to the Client until Client.Ready or Wait reports that it is
// complete.
type Answers struct {
	// Copies has a bit for each packet that another site has sent before.
	Copies []uint64
	// Remaining, with ClientConfig.Remaining, is how long each copy stays a copy, as in Reply.
	Remaining []uint16
	// Unchecked counts the packets without an answer, and Assumed those that count as copies.
	Unchecked, Assumed int
	// Done, if not nil, is called once the answers are complete. It must neither wait,
	// nor call the Client.
	Done    func()
	pending int
}

// settle deducts packets from those with pending answers.
func (a *Answers) settle(packets int) {
	if a.pending -= packets; a.pending == 0 && a.Done != nil {
		a.Done()
	}
}

// Ask asks about the packets of a batch, except those whose bit in skip is set. times are
// in nanoseconds of the Unix epoch. Packets without a time, or with a time before 1970 or
// after 2255, are left unchecked. Batches must come in the order of their stream. The
// Client keeps neither digests nor times.
func (c *Client) Ask(a *Answers, digests []digest.Digest, times []int64, skip []uint64) {
	c.ask(a, len(digests), times, skip, func(i int) (uint64, *slice) {
		d := digests[i][0]
		return d, &c.slices[sliceOf(d, len(c.slices))]
	})
}

// AskSlice is Ask for digests that all belong to one slice, given by its number. The bits
// that choose the slice may be missing. It panics if there is no slice with that number.
func (c *Client) AskSlice(a *Answers, number int, digests []uint64, times []int64, skip []uint64) {
	s := &c.slices[number]
	c.ask(a, len(digests), times, skip, func(i int) (uint64, *slice) { return digests[i], s })
}

// ask asks about n packets. of returns the digest of a packet, and its slice.
func (c *Client) ask(a *Answers, n int, times []int64, skip []uint64, of func(i int) (uint64, *slice)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.cfg.Block && c.underWay >= crowd && c.took > 2*c.least+batchDelay && !c.abandoned {
		c.progress.Wait()
	}
	a.Copies, a.Unchecked, a.Assumed, a.pending = resize(a.Copies, (n+63)/64), 0, 0, 1 // until all are asked about
	clear(a.Copies)
	if c.cfg.Remaining {
		a.Remaining = resize(a.Remaining, n)
		clear(a.Remaining)
	}
	now := c.now()
	closed := c.way.closed() || !c.cfg.Block && !(c.cfg.Anytime && c.cfg.Wait >= reconnectWait) && !c.to.Connected()
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
	c.flush(now)
	c.post(now)
	c.arm(now)
}

// askable reports whether a request can carry the time of a packet, which a file may have
// made up. calendar.NoTime is none.
func askable(t int64) bool { return uint64(t) < (MaxTime-maxDelta*DeltaUnit)*uint64(time.Microsecond) }

// unchecked counts packets without an answer, by their places in the batch.
func (c *Client) unchecked(a *Answers, places ...uint32) {
	a.Unchecked += len(places)
	c.stats.Unchecked += uint64(len(places))
	if c.cfg.Closed && !c.way.closed() {
		a.Assumed += len(places)
		for _, i := range places {
			a.Copies[i/64] |= 1 << (i % 64)
		}
	}
}

// Answered has f called whenever answers that were not ready at the end of Ask are complete. f must
// neither wait, nor call the Client.
func (c *Client) Answered(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakes = f
}

// Ready reports whether a batch's answers are complete. Then the Answers are the
// caller's.
func (c *Client) Ready(a *Answers) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.pending == 0
}

// Wait waits until a batch's answers are complete: at most as long as packets wait.
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

// Flush sends the collected digests.
func (c *Client) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendAll()
}

// Count adds to the packets in reports: all, and copies by the local filter.
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

// Assumes reports whether packets without an answer count as copies now.
func (c *Client) Assumes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Closed && !c.way.closed()
}

// Failing returns a short reason why the hub does not answer, or "".
func (c *Client) Failing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// Abandon gives up pending requests. Later packets stay unchecked.
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

// Close abandons pending requests, and sends the last report. The transport stays open.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.abandon()
	c.sendReport()
	c.timer.Reset(0)
	c.mu.Unlock()
	<-c.done
}
