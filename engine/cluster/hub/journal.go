// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// journalBytes and journalAge bound the length and age of a journal before the slice
	// is saved.
	journalBytes = 16 << 20
	journalAge   = 30 * time.Second
)

// journal is the log of a slice's requests, in JetStream. A request is in it before it is
// answered, so a new owner that loads the saved slice and replays all later requests
// knows all answers.
//
// An owner adds to the journal only after the last message that it has seen. This fails
// where another owner has added a message: so two owners cannot both answer.
type journal struct {
	layout  *layout
	subject string
	last    uint64 // sequence of the last message, 0 for none
	bytes   int    // since it was saved
	savedAt time.Time
	broken  bool // the stream differs from the slice's state
}

func (l *layout) journal(number int) *journal {
	return &journal{layout: l, subject: l.journalSubject(sliceKey(number)), savedAt: time.Now()}
}

func (l *layout) journalSubject(key string) string { return "fdlog." + l.name + "." + key }

// add adds an entry. After an error the slice has to be restored.
func (j *journal) add(e entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	ack, err := j.layout.js.Publish(ctx, j.subject, e.append(nil), jetstream.WithExpectLastSequencePerSubject(j.last), jetstream.WithRetryAttempts(0))
	if err != nil {
		j.broken = true
		return err
	}
	j.last = ack.Sequence
	j.bytes += len(e.msg)
	return nil
}

// due reports whether it is time to save the slice.
func (j *journal) due(now time.Time) bool {
	return j.bytes > journalBytes || j.bytes > 0 && now.Sub(j.savedAt) > journalAge
}

// replay applies to a slice all requests after the message that it was saved at. It skips
// messages that cannot be read, and then returns an error that wraps errJournal. climbs is
// as in entry.apply.
func (j *journal) replay(s keeper, savedAt uint64, climbs bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	j.last = savedAt
	newest, err := j.layout.log.GetLastMsgForSubject(ctx, j.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		j.last = 0
		return nil
	} else if err != nil {
		return err
	}
	if newest.Sequence <= savedAt {
		return nil
	}
	consumer, err := j.layout.log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{j.subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: savedAt + 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	var bad error
	for j.last < newest.Sequence {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		j.last = meta.Sequence.Stream
		e, err := parseEntry(m.Data())
		if err == nil {
			err = e.apply(s, climbs)
		}
		if err != nil {
			bad = fmt.Errorf("%w: message %d: %w", errJournal, j.last, err)
			continue
		}
		j.bytes += len(e.msg)
	}
	return bad
}

// at returns the last message, 0 without a journal.
func (j *journal) at() uint64 {
	if j == nil {
		return 0
	}
	return j.last
}

// saved removes all messages before the last message, as no owner will need them again. The
// last message stays: its number is what the next message has to follow.
func (j *journal) saved(now time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	j.bytes, j.savedAt = 0, now
	return j.layout.log.Purge(ctx, jetstream.WithPurgeSubject(j.subject), jetstream.WithPurgeSequence(j.last))
}
