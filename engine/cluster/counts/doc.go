// SPDX-License-Identifier: Apache-2.0

// Package counts keeps the files of distinct counts (package countfile) that sites send, and
// unites those of each window.
//
// A [Store] is a folder. It has a folder for each window, by its begin and length, with
// the files of the sites, and the numbers of their union. [Store.Take] takes a file in
// pieces; a file that comes twice is there once. Unions are made in the background, once
// no file has come for a while, and again if a late file comes. The folder's size is
// bounded: the oldest windows go first.
package counts
