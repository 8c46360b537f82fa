// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"time"
)

// Health is the answer of /healthz, in JSON.
type Health struct {
	Status  string        `json:"status"` // "ok" or "failing"
	Age     time.Duration `json:"age_ns"`
	Reasons []string      `json:"reasons,omitempty"`
}

// The values of Health.Status.
const (
	healthy = "ok"
	failing = "failing"
)

// MaxAge is how old the last status of a program may be, and for how long a loss is a reason
// of bad health. Healthy programs give a status once a second.
const MaxAge = 10 * time.Second

// HealthAt returns the health of a program that gave its last status at a time, zero for none.
// The reasons name what fails.
func HealthAt(updated time.Time, reasons []string) Health {
	if updated.IsZero() {
		return Health{Status: failing, Reasons: []string{"no status yet"}}
	}
	waited := time.Since(updated)
	if waited > MaxAge {
		reasons = append(reasons, fmt.Sprintf("no status for %s", waited.Round(time.Second)))
	}
	h := Health{Status: healthy, Age: waited.Truncate(time.Millisecond), Reasons: reasons}
	if len(reasons) > 0 {
		h.Status = failing
	}
	return h
}
