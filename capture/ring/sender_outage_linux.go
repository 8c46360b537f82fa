package ring

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// How long an interface is left alone that could not be sent to: short at first, as one
// that is made anew is there soon.
const (
	firstRetry = 20 * time.Millisecond
	mostRetry  = 100 * time.Millisecond
)

// outage is why an interface cannot be sent to. Its zero value is none.
type outage struct {
	reason  error // nil without an outage; it stays until a frame was sent
	unbound bool  // the socket leads nowhere: the interface is looked for first
	next    time.Time
	wait    time.Duration // after the next try
}

// begin notes that a frame could not be sent.
func (o *outage) begin(reason error) { o.reason, o.unbound = reason, true }

// due tells whether it is time to look for the interface, which then is done.
func (o *outage) due(now time.Time) bool {
	if now.Before(o.next) {
		return false
	}
	o.wait = min(max(2*o.wait, firstRetry), mostRetry)
	o.next = now.Add(o.wait)
	return true
}

// reconnect reports whether there is an interface to send to, as far as is known. The socket
// is bound to the one that has the name now, and not opened anew: that needs no
// capability, so it works for a process that has given up its own.
func (s *Sender) reconnect() bool {
	o := &s.outage
	if !o.unbound {
		return true
	}
	if !o.due(time.Now()) {
		return false
	}
	d, err := lookUpSendable(s.conf.Interface)
	if err == nil {
		err = bindSender(s.fd, &d)
	}
	if err != nil {
		o.reason = err
		return false
	}
	o.unbound = false
	return true
}

// lookUpSendable describes an interface that can be sent to.
func lookUpSendable(name string) (device, error) {
	d, err := lookUp(name)
	switch {
	case err != nil:
		return d, err
	case d.link != capture.LinkEthernet:
		return d, fmt.Errorf("%s: %w: frames are sent to Ethernet only", name, ErrLinkType)
	case !d.up:
		return d, fmt.Errorf("%s: %w: ip link set %s up", name, ErrDown, name)
	}
	return d, nil
}

func bindSender(fd int, d *device) error {
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: d.index}); err != nil {
		return kernelError(d.name, "bind", err)
	}
	return nil
}
