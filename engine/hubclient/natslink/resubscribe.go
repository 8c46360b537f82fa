// SPDX-License-Identifier: Apache-2.0

package natslink

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// resubscribeWait is the time from a denied subscription until it is made again.
const resubscribeWait = time.Second

// Resubscriber has connections subscribe again. A server ends subscriptions when it gets a
// configuration without the permission, and makes them no more when the permission comes back. The
// zero value is ready.
type Resubscriber struct{ waiting sync.Map }

// Failed takes an error of a connection. If the server has denied a subscription, the connection is
// made again after a second.
func (r *Resubscriber) Failed(conn *nats.Conn, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "Subscription") {
		return
	}
	if _, waits := r.waiting.LoadOrStore(conn, true); !waits {
		time.AfterFunc(resubscribeWait, func() {
			r.waiting.Delete(conn)
			_ = conn.ForceReconnect() // it may have ended
		})
	}
}
