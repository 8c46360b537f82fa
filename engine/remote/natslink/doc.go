// SPDX-License-Identifier: Apache-2.0

// Package natslink carries the messages of package remote over NATS. A Link stays
// connected as far as it can: it connects again whenever the connection ends, and keeps
// nothing to be sent later, when answers would be of no use.
package natslink
