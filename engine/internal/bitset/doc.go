// Package bitset has what verdicts need: bits in words.
package bitset
