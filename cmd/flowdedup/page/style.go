// SPDX-License-Identifier: Apache-2.0

package page

// Style returns the style of all pages, in CSS, for pages that are made elsewhere.
func Style() string { return string(pageStyle) }
