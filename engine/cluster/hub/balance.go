// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/slice"
)

// keepShare renews the hub's lease, and takes and gives slices, until Close.
func (h *Hub) keepShare() {
	for since := (time.Time{}); ; {
		select {
		case <-h.ctx.Done():
			return
		case <-h.layout.renamed:
		case <-time.After(h.untilShare(time.Now())):
		}
		if err := h.updateSites(); err != nil {
			h.siteConns.log.warn(err.Error())
		}
		err := h.share()
		switch {
		case err == nil:
			since = time.Time{}
		case since.IsZero():
			h.log.Warn(err.Error())
			since = time.Now()
		case h.repair != nil && time.Since(since) > repairAfter:
			since = time.Now()
			h.repairStore()
		}
	}
}

// repairStore has the server open its store again, and reads all of it anew.
func (h *Hub) repairStore() {
	if h.repair() == nil { // on failure the server has logged why, and will try again
		h.cuts.Add(1)
		h.log.Log("JetStream has opened its store again")
	}
}

// share makes the hub own its part of the slices: the live hubs divide them evenly.
func (h *Hub) share() error {
	begin := time.Now()
	if !h.sites.IsConnected() { // a hub that no site reaches must not keep slices
		return errors.New("the lease was not renewed: there is no connection for sites")
	}
	if cuts := h.cuts.Load(); cuts != h.known.Load() {
		if err := h.layout.watch(h.ctx, &h.group); err != nil {
			return err
		}
		h.known.Store(cuts)
	}
	if err := h.renew(); err != nil {
		return err
	}
	h.dropDead(begin)
	h.dropLost()
	if h.settings.Journal {
		if err := h.keepJournals(begin); err != nil {
			return err
		}
	}
	live := h.layout.live(begin)
	place, found := slices.BinarySearch(live, h.id)
	if !found { // the renewal has not come back yet
		live = slices.Insert(live, place, h.id)
	}
	want := h.settings.Slices / len(live)
	if place < h.settings.Slices%len(live) {
		want++
	}
	mine := h.all()
	for len(mine) > want {
		last := mine[len(mine)-1]
		if err := h.give(last); err != nil {
			return fmt.Errorf("slice %d was not given away: %w", last.number, err)
		}
		if err := h.renewInTime(); err != nil {
			return err
		}
		mine = mine[:len(mine)-1]
	}
	return h.takeFree(want-len(mine), live)
}

// renew renews the hub's lease.
func (h *Hub) renew() error {
	begin := time.Now()
	if err := h.layout.renew(h.id); err != nil {
		return fmt.Errorf("the lease was not renewed: %w", err)
	}
	h.renewed.Store(int64(begin.Sub(h.started)))
	return nil
}

// renewInTime renews the hub's lease between the steps of a share, if it is time. All steps together
// may take longer than the lease.
func (h *Hub) renewInTime() error {
	if time.Since(h.started)-time.Duration(h.renewed.Load()) < leaseEvery {
		return nil
	}
	return h.renew()
}

// dropLost forgets slices that another hub has become the owner of.
func (h *Hub) dropLost() {
	for _, o := range h.all() {
		if h.layout.owner(o.number).revision == o.fence {
			continue
		}
		h.log.Warn(fmt.Sprintf("slice %d has another owner: this hub drops its state of it", o.number))
		h.forget(o)
		if err := errors.Join(o.stop(), o.closeSlice()); err != nil {
			h.log.Warn(err.Error())
		}
	}
}

func (h *Hub) forget(o *owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.owners, o.number)
}

// takeFree takes up to count slices that no live hub owns.
func (h *Hub) takeFree(count int, live []string) error {
	for number := 0; number < h.settings.Slices && count > 0; number++ {
		seen := h.layout.owner(number)
		_, lives := slices.BinarySearch(live, seen.Hub)
		if h.owns(number) || lives && seen.Hub != h.id {
			continue
		}
		fence, err := h.layout.change(number, seen, h.id)
		if isTaken(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("slice %d was not taken: %w", number, err)
		}
		if err := h.own(number, fence, seen.Hub != ""); err != nil {
			return fmt.Errorf("slice %d: %w", number, err)
		}
		if err := h.renewInTime(); err != nil {
			return err
		}
		count--
	}
	return nil
}

func (h *Hub) owns(number int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[number] != nil
}

// own begins to answer for a slice, as it was saved last. died means that the last owner
// has not given it away.
func (h *Hub) own(number int, fence uint64, died bool) error {
	o := &owner{hub: h, number: number, fence: fence, lags: map[string]*lag{}, subs: map[string]*nats.Subscription{}}
	var err error
	if o.slice, o.journal, err = h.restore(number, died); err != nil {
		return err
	}
	if err := h.serve(o); err != nil {
		h.forget(o)
		return errors.Join(err, o.stop(), o.closeSlice())
	}
	return nil
}

// serve has an owner serve all sites.
func (h *Hub) serve(o *owner) error {
	h.siteConns.mu.Lock()
	defer h.siteConns.mu.Unlock()
	h.mu.Lock()
	h.owners[o.number] = o
	h.mu.Unlock()
	err := o.subscribeLink()
	for site, s := range h.siteConns.sites {
		err = errors.Join(err, o.subscribe(s.at.conn, site))
	}
	return err
}

// restore returns a slice as it was saved, with all later entries of its journal, or an
// empty slice. A link without a journal whose owner has died has lost its state.
func (h *Hub) restore(number int, died bool) (keeper, *journal, error) {
	s, at, err := h.load(number)
	if errors.Is(err, errSaved) {
		h.log.Warn(fmt.Sprintf("slice %d starts empty: %v", number, err))
		died, at = true, 0
		s, err = h.open(number, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	if !h.settings.Journal {
		if link, ok := s.(*chain.Link); ok && died {
			link.Lose()
		}
		return s, nil, nil
	}
	j := h.layout.journal(number)
	err = j.replay(s, at, h.parent != nil)
	if errors.Is(err, errJournal) {
		h.log.Warn(fmt.Sprintf("slice %d may have forgotten something: %v", number, err))
		err = nil
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, j, nil
}

// load returns a slice as it was saved, with the message of the journal. Errors wrap errSaved if
// it cannot be used.
func (h *Hub) load(number int) (keeper, uint64, error) {
	data, at, err := h.layout.load(number)
	if err != nil {
		return nil, 0, err
	}
	s, err := h.open(number, data)
	if errors.Is(err, slice.ErrSnapshot) {
		err = fmt.Errorf("%w: %w", errSaved, err)
	}
	return s, at, err
}

// give answers the requests that have arrived for a slice, saves it, and releases it to
// others.
func (h *Hub) give(o *owner) error {
	h.forget(o)
	err := o.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.up.closed = true
	fence, owned := h.layout.change(o.number, record{revision: o.fence}, h.id)
	if isTaken(owned) {
		return errors.Join(err, o.slice.Close()) // this hub's state of it is outdated
	}
	// Without a snapshot the next owner begins with the snapshot before, or an empty slice.
	if o.journal == nil || !o.journal.broken {
		err = errors.Join(err, h.layout.save(o.number, o.slice, o.journal.at()))
	}
	_, freed := h.layout.change(o.number, record{revision: fence}, "")
	return errors.Join(err, owned, freed, o.slice.Close())
}

// keepJournals saves slices whose journals are long. It gives away slices that differ
// from their journals, to begin them anew.
func (h *Hub) keepJournals(now time.Time) error {
	for _, o := range h.all() {
		o.mu.Lock()
		due, broken := o.journal.due(now), o.journal.broken
		var err error
		if due && !broken {
			if err = h.layout.save(o.number, o.slice, o.journal.last); err == nil {
				err = o.journal.saved(now)
			}
		}
		o.mu.Unlock()
		if broken {
			err = h.give(o)
		}
		if err != nil {
			return fmt.Errorf("slice %d was not saved: %w", o.number, err)
		}
		if err := h.renewInTime(); err != nil {
			return err
		}
	}
	return nil
}
