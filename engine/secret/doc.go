// SPDX-License-Identifier: Apache-2.0

// Package secret has the key of a run, and derives the key for each use from it. Package
// digest computes digests with these keys. Errors about the text of a secret wrap
// ErrSyntax.
package secret
