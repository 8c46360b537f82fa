// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// leaseTime is after how long a silent hub loses its slices. It stops to answer after
	// half of that, by its own clock: it loses them then if it has no connection either.
	leaseTime = 4 * time.Second
	// repairAfter is the time without success after which the store of leases is opened
	// again.
	repairAfter = 3 * time.Second
	// leaseEvery is the time between renewals.
	leaseEvery = 500 * time.Millisecond
	// storeTime is how long the server may take for one request about leases.
	storeTime = 2 * time.Second
)

// layout says which hub owns which slice, in JetStream: all hubs of a filter see the same.
//
// A bucket of leases has a key for each hub that lives: NATS removes it leaseTime after
// the last renewal. A bucket of owners has a key for each slice. To become an owner, a
// hub replaces the revision of the key that it has seen, so only a single hub of several
// succeeds. The revision is the fencing number: it is higher than the revisions of all
// owners before.
type layout struct {
	name   string
	seed   []byte // seed of all hubs: proves that leases are theirs
	js     jetstream.JetStream
	log    jetstream.Stream // of journals, nil without
	leases jetstream.KeyValue
	owners jetstream.KeyValue
	saved  jetstream.ObjectStore

	unwatch context.CancelFunc

	renamed chan struct{} // gets a value when the sites are others; it has room for one

	mu     sync.Mutex
	sites  []string             // names of sites, as the hub with their keys has announced them; nil before
	hubs   map[string]time.Time // when each was last heard of
	slices map[string]record
}

// record is who owns a slice.
type record struct {
	Hub      string `json:"hub"` // ID, empty for nobody
	revision uint64
}

// openLayout makes or opens the shared buckets, and waits until it knows the present
// state. It follows changes until the context ends.
func openLayout(ctx context.Context, conn *nats.Conn, s *Settings, seed []byte, group *sync.WaitGroup) (*layout, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s_%s_%d", s.Namespace, s.Filter, s.Epoch)
	l := &layout{name: name, seed: seed, js: js, renamed: make(chan struct{}, 1), hubs: map[string]time.Time{}, slices: map[string]record{}}
	begin, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if l.owners, err = js.CreateOrUpdateKeyValue(begin, jetstream.KeyValueConfig{Bucket: "fd_layout_" + name}); err != nil {
		return nil, fmt.Errorf("%w: JetStream, which hubs need: %w", ErrServer, err)
	}
	if l.saved, err = js.CreateOrUpdateObjectStore(begin, jetstream.ObjectStoreConfig{Bucket: "fd_snap_" + name}); err != nil {
		return nil, fmt.Errorf("%w: JetStream, which hubs need: %w", ErrServer, err)
	}
	stream := "fd_log_" + name
	if s.Journal {
		l.log, err = js.CreateOrUpdateStream(begin, jetstream.StreamConfig{Name: stream, Subjects: []string{l.journalSubject("*")}, AllowDirect: true})
	} else if err = js.DeleteStream(begin, stream); errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil // an old log would be outdated when journals are wanted again
	}
	if err != nil {
		return nil, fmt.Errorf("%w: JetStream, which hubs need: %w", ErrServer, err)
	}
	return l, l.watch(ctx, group)
}

// watch follows the buckets anew, as after a cut of the connection, and waits until it
// knows the present state. It makes the bucket of leases: a restarted server has lost it.
func (l *layout) watch(ctx context.Context, group *sync.WaitGroup) error {
	if l.unwatch != nil {
		l.unwatch()
	}
	watching, unwatch := context.WithCancel(ctx)
	l.unwatch = unwatch
	begin, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	l.waitForAll(time.Now())
	var err error
	l.leases, err = l.js.CreateOrUpdateKeyValue(begin, jetstream.KeyValueConfig{Bucket: "fd_lease_" + l.name, TTL: leaseTime, Storage: jetstream.MemoryStorage})
	if err != nil {
		return fmt.Errorf("%w: JetStream, which hubs need: %w", ErrServer, err)
	}
	if err := l.follow(watching, begin, l.leases, group, l.noteHub); err != nil {
		return err
	}
	return l.follow(watching, begin, l.owners, group, l.noteOwner)
}

// follow gives note all entries of a bucket, and then all changes. It returns when note
// has the present layout.
func (l *layout) follow(ctx, begin context.Context, bucket jetstream.KeyValue, group *sync.WaitGroup, note func(jetstream.KeyValueEntry)) error {
	watcher, err := bucket.WatchAll(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrServer, err)
	}
	present := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case e, ok := <-watcher.Updates():
				switch {
				case !ok:
					return
				case e == nil:
					close(present)
				default:
					note(e)
				}
			case <-ctx.Done():
				_ = watcher.Stop() // the connection may have ended
				return
			}
		}
	})
	select {
	case <-present:
		return nil
	case <-begin.Done():
		return fmt.Errorf("%w: %w", ErrServer, begin.Err())
	}
}

func (l *layout) noteHub(e jetstream.KeyValueEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Operation() == jetstream.KeyValuePut {
		if hmac.Equal(e.Value(), l.proof(e.Key())) { // otherwise the lease is not from a holder of the hubs' key
			l.hubs[e.Key()] = time.Now()
		}
	} else {
		delete(l.hubs, e.Key())
	}
}

// sitesKey is the key of the sites' names, among the keys of slices.
const sitesKey = "sites"

// noteSites notes the names of sites.
func (l *layout) noteSites(text []byte) {
	var names []string
	if json.Unmarshal(text, &names) != nil {
		return
	}
	l.mu.Lock()
	l.sites = names
	l.mu.Unlock()
	select {
	case l.renamed <- struct{}{}:
	default:
	}
}

// siteNames returns the announced names of sites.
func (l *layout) siteNames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sites
}

// announce has other hubs know the names of sites.
func (l *layout) announce(names []string) error {
	if before := l.siteNames(); before != nil && slices.Equal(names, before) {
		return nil
	}
	text, err := json.Marshal(append([]string{}, names...)) // a list, even without any site
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	_, err = l.owners.Put(ctx, sitesKey, text)
	return err
}

func (l *layout) noteOwner(e jetstream.KeyValueEntry) {
	if e.Key() == sitesKey {
		l.noteSites(e.Value())
		return
	}
	var r record
	if e.Operation() == jetstream.KeyValuePut {
		if err := json.Unmarshal(e.Value(), &r); err != nil {
			r = record{} // nobody's
		}
	}
	r.revision = e.Revision()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.revision > l.slices[e.Key()].revision {
		l.slices[e.Key()] = r
	}
}

// live returns the hubs that live, sorted.
func (l *layout) live(now time.Time) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, heard := range l.hubs {
		if now.Sub(heard) <= leaseTime {
			ids = append(ids, id)
		} else {
			delete(l.hubs, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// waitForAll gives all known hubs time to renew their leases. Their connections may have been
// cut, too.
func (l *layout) waitForAll(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.hubs {
		l.hubs[id] = now
	}
}

// silent returns the hubs that have been silent too long to answer, and the time at which the
// next renewal will be silent too long.
func (l *layout) silent(now time.Time) (ids []string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next = now.Add(leaseTime)
	for id, heard := range l.hubs {
		if end := heard.Add(leaseTime / 2); now.After(end) {
			ids = append(ids, id)
		} else if end.Before(next) {
			next = end
		}
	}
	return ids, next
}

// forgetHub forgets a hub that was not heard of since silent has returned it.
func (l *layout) forgetHub(id string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.hubs[id]) > leaseTime/2 {
		delete(l.hubs, id)
	}
}

// proof returns the content of a hub's lease, which nobody without the key of hubs can make.
func (l *layout) proof(id string) []byte {
	mac := hmac.New(sha256.New, l.seed)
	fmt.Fprintf(mac, "lease %s %s", l.name, id)
	return mac.Sum(nil)
}

// owner returns who owns a slice.
func (l *layout) owner(number int) record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slices[sliceKey(number)]
}

// unowned returns how many slices belong to no hub that lives.
func (l *layout) unowned(count int, now time.Time) (n int) {
	live := l.live(now)
	for number := range count {
		if _, lives := slices.BinarySearch(live, l.owner(number).Hub); !lives {
			n++
		}
	}
	return n
}

// others returns the slices of all live hubs except the given hub.
func (l *layout) others(count int, id string, now time.Time) (all []int) {
	live := l.live(now)
	for number := range count {
		if owner := l.owner(number).Hub; owner != id && slices.Contains(live, owner) {
			all = append(all, number)
		}
	}
	return all
}

func sliceKey(number int) string { return fmt.Sprintf("s%03d", number) }

// renew renews a hub's lease.
func (l *layout) renew(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	_, err := l.leases.Put(ctx, id, l.proof(id))
	return err
}

// leave ends a hub's lease.
func (l *layout) leave(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	return l.leases.Delete(ctx, id)
}

// change makes a hub, or nobody, the owner of a slice if its owner is still the owner in
// the record. It returns the new revision. Errors wrap jetstream.ErrKeyExists if another
// was first.
func (l *layout) change(number int, seen record, id string) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	next := record{Hub: id}
	text, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	if seen.revision == 0 {
		next.revision, err = l.owners.Create(ctx, sliceKey(number), text)
	} else {
		next.revision, err = l.owners.Update(ctx, sliceKey(number), text, seen.revision)
	}
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if next.revision > l.slices[sliceKey(number)].revision {
		l.slices[sliceKey(number)] = next
	}
	return next.revision, nil
}

// isTaken reports whether an error of change says that another hub was first.
func isTaken(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) ||
		errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// save stores a slice for its next owner, with the number of the last journal message
// that it includes.
func (l *layout) save(number int, s keeper, at uint64) error {
	data := s2.Encode(nil, s.Save(binary.LittleEndian.AppendUint64(nil, at)))
	return l.store(number, data)
}

func (l *layout) store(number int, data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	_, err := l.saved.PutBytes(ctx, sliceKey(number), data)
	return err
}

// errSaved says that a stored slice cannot be used.
var errSaved = errors.New("the saved slice cannot be used")

// load returns the slice stored last, with the number of its last journal message, or nil
// if nothing was stored. Errors wrap errSaved, or are of the server.
func (l *layout) load(number int) (data []byte, at uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	packed, err := l.saved.GetBytes(ctx, sliceKey(number))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	data, err = s2.Decode(nil, packed)
	if err != nil || len(data) < 8 {
		return nil, 0, fmt.Errorf("%w: it is damaged", errSaved)
	}
	return data[8:], binary.LittleEndian.Uint64(data), nil
}
