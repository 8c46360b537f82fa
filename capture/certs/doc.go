// SPDX-License-Identifier: Apache-2.0

// Package certs reads the certificates of TLS, and reads them again for each connection, so that
// renewed files count without a restart. Files that cannot be used, such as a new certificate with
// the key of the earlier certificate, change nothing.
package certs
