// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// watchEvery is how often the properties of interfaces are looked at. The kernel reports not all
	// of their changes.
	watchEvery = 100 * time.Millisecond
	// countEvery is how many looks pass between two of the counters of the card.
	countEvery = 10
)

// away says that an interface is removed only here.
const away = "the interface was moved to another network namespace"

// watcher follows the interfaces of a capture: their properties, and what their cards lose. It has a
// goroutine of its own: the kernel answers under a lock (RTNL), which other processes may hold for long,
// and packets must not wait for it. Its sockets stay in the namespace of the capture.
type watcher struct {
	capture *Capture
	ended   chan struct{}
	done    sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	ioctls   int        // -1 once closed
	links    netlink    // asks
	events   netlink    // gets the kernel's reports of interfaces that are removed
	counters []driverCounters
}

func newWatcher(c *Capture) (*watcher, error) {
	fd, err := openIoctls()
	if err != nil {
		return nil, err
	}
	w := &watcher{capture: c, ended: make(chan struct{}), ioctls: fd}
	// A process that may not have such sockets knows no counters, nor why an interface is gone.
	w.links, _ = openNetlink(0)
	w.events, _ = openNetlink(unix.RTMGRP_LINK)
	return w, nil
}

// start begins to watch the ports that the capture has. What a card lost until then does not count.
func (w *watcher) start() {
	w.counters = make([]driverCounters, len(w.capture.ports))
	w.look(counts)
	w.done.Go(w.run)
}

func (w *watcher) run() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
			what := properties
			if n%countEvery == 0 {
				what = counts
			}
			w.look(what)
		}
	}
}

// What a look is for. lastCounts is the last look, for counts.
type purpose uint8

const (
	properties purpose = iota
	counts
	lastCounts
)

// look looks at all interfaces, and wakes the capture if one has changed or, for ports that follow,
// each time with counts.
func (w *watcher) look(what purpose) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ioctls < 0 {
		return
	}
	w.readEvents()
	wake := false
	for n, p := range w.capture.ports {
		i := p.At()
		i.mu.Lock()
		index, last := i.index, i.seen
		i.mu.Unlock()
		name, ok := w.nameOf(index)
		if !ok {
			continue
		}
		now, err := lookUp(w.ioctls, name)
		if err != nil || now.Index != index { // renamed or removed meanwhile
			continue
		}
		_, follows := p.(Follower)
		i.mu.Lock()
		i.seen = now
		i.mu.Unlock()
		wake = wake || follows && (what == counts || now != last)
		if what != properties && n < len(w.counters) {
			w.count(p, &now, &w.counters[n], what == lastCounts)
		}
	}
	if wake {
		w.capture.changed.Store(true)
		w.capture.sleeper.wake()
	}
}

// count reads what the card of an interface lost.
func (w *watcher) count(p Port, d *Device, driver *driverCounters, ended bool) {
	var now CardCounts
	if !w.links.readCounters(d.Index, &now) {
		return
	}
	driver.read(w.ioctls, d.Name, &now)
	own, i := p.CountedTwice(), p.At()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.card.add(d.Index, &now, own, ended)
}

// nameOf returns the name that an interface has now.
func (w *watcher) nameOf(index int) (string, bool) {
	request, err := unix.NewIfreq("lo") // any name
	if err != nil || index <= 0 {
		return "", false
	}
	request.SetUint32(uint32(index))
	if err := unix.IoctlIfreq(w.ioctls, unix.SIOCGIFNAME, request); err != nil {
		return "", false
	}
	return request.Name(), true
}

// readEvents notes why interfaces are gone. Where events were lost, as many came at once, that stays
// unknown.
func (w *watcher) readEvents() {
	for {
		messages, err := w.events.receive()
		if err != nil && !errors.Is(err, unix.ENOBUFS) {
			return
		}
		for m := range messages {
			index := indexOf(&messages[m], unix.RTM_DELLINK)
			if index <= 0 {
				continue
			}
			why := ErrRemoved.Error()
			if attributeOf(&messages[m], unix.IFLA_NEW_NETNSID) != nil {
				why = away
			}
			for _, p := range w.capture.ports {
				p.At().setAway(index, why)
			}
		}
	}
}

// close ends the goroutine, and everything else.
func (w *watcher) close() {
	w.mu.Lock()
	if w.ioctls >= 0 {
		close(w.ended)
		_ = unix.Close(w.ioctls) // it has nothing to lose
		w.ioctls = -1
	}
	w.links.close()
	w.events.close()
	w.mu.Unlock()
	w.done.Wait()
}
