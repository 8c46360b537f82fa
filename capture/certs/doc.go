// SPDX-License-Identifier: Apache-2.0

// Package certs reads the certificates of TLS, and reads them again for each connection, so that
// renewed files count without a restart. Files that cannot be used, such as a certificate whose key
// is still the earlier one, leave everything as it was until they can.
package certs
