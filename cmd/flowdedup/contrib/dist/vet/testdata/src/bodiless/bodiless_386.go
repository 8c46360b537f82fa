// SPDX-License-Identifier: Apache-2.0

package bodiless

func double(x uint64) uint64 // want "double has neither a body nor assembly"
