// Package shard shares the elements of a filter among workers, each of which owns a range of its
// lines. Neither verdicts nor memory depend on their number.
package shard
