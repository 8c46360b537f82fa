// SPDX-License-Identifier: Apache-2.0

// Package enum formats and parses constants by a list of their names.
package enum

import (
	"fmt"
	"slices"
	"strings"
)

// Name returns the name of a constant, or its number if it has no name.
func Name[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(uint8(i))
}

// Parse is the inverse of Name. Its error lists the names.
func Parse[T ~uint8](names []string, s string) (T, error) {
	i := slices.Index(names, s)
	if i < 0 {
		return 0, fmt.Errorf("must be one of %s", strings.Join(names, ", "))
	}
	return T(i), nil
}
