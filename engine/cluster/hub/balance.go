package hub

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/flowdedup/flowdedup/engine/cluster/slice"
)

// keepShare renews the hub's lease, and takes and gives slices, until Close.
func (h *Hub) keepShare() {
	ticker := time.NewTicker(leaseEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
		}
		err := h.share()
		if err != nil && !failing {
			h.log.Warn(err.Error())
		}
		failing = err != nil
	}
}

// share has the hub own its part of the slices: as many as each of the hubs that live.
func (h *Hub) share() error {
	begin := time.Now()
	if err := h.layout.renew(h.id); err != nil {
		return fmt.Errorf("the lease was not renewed: %w", err)
	}
	h.renewed.Store(int64(begin.Sub(h.started)))
	h.dropLost()
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
		mine = mine[:len(mine)-1]
	}
	return h.takeFree(want-len(mine), live)
}

// dropLost forgets slices that another hub has become the owner of.
func (h *Hub) dropLost() {
	for _, o := range h.all() {
		if h.layout.owner(o.number).revision == o.fence {
			continue
		}
		h.log.Warn(fmt.Sprintf("slice %d has another owner: what this one knew of it is dropped", o.number))
		h.forget(o)
		if err := errors.Join(o.stop(), o.slice.Close()); err != nil {
			h.log.Warn(err.Error())
		}
	}
}

func (h *Hub) forget(o *owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.owners, o.number)
}

// takeFree takes up to count slices of those that no hub that lives has.
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
		if err := h.own(number, fence); err != nil {
			return fmt.Errorf("slice %d: %w", number, err)
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

// own begins to answer for a slice, as it was saved last.
func (h *Hub) own(number int, fence uint64) error {
	s, err := h.restore(number)
	if err != nil {
		return err
	}
	o := &owner{hub: h, number: number, fence: fence, slice: s, lags: map[string]*lag{}}
	if err := o.subscribe(); err != nil {
		return errors.Join(err, s.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owners[number] = o
	return nil
}

// restore returns a slice as it was saved, or an empty one.
func (h *Hub) restore(number int) (*slice.Slice, error) {
	cfg := slice.Config{Window: h.settings.Window(), Memory: h.memory, Limit: h.limit, Slices: h.settings.Slices}
	packed, err := h.layout.load(number)
	if err == nil && packed == nil {
		return slice.New(cfg)
	}
	var data []byte
	if err == nil {
		data, err = s2.Decode(nil, packed)
	}
	if err == nil {
		var s *slice.Slice
		if s, err = slice.Restore(cfg, data); err == nil {
			return s, nil
		}
	}
	h.log.Warn(fmt.Sprintf("slice %d starts empty: what was saved of it cannot be used: %v", number, err))
	return slice.New(cfg)
}

// give answers what has arrived for a slice, saves it, and lets others own it.
func (h *Hub) give(o *owner) error {
	h.forget(o)
	err := o.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	// Without a snapshot the next owner begins with the one before, or an empty slice.
	err = errors.Join(err, h.layout.save(o.number, s2.Encode(nil, o.slice.Save(nil))), o.slice.Close())
	_, freed := h.layout.change(o.number, record{revision: o.fence}, "")
	return errors.Join(err, freed)
}
