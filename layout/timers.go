// SPDX-License-Identifier: Apache-2.0

package layout

// A line of timers has 64 timers of 8 bits or 32 timers of 16 bits. Timer c of b bits is
// bits b*c to b*c+b-1 of the line, so each eighth of the line is a word. An element owns
// at most one timer in each word, and MaxCellK in all.
//
//	word     0                          1                        7
//	     ┌──┬──┬──┬──┬──┬──┬──┬──┬──┬──┬──┬──    ──┬──┬──┬──┬──┬──┬──┬──┐
//	8    │ 0│ 1│ 2│ 3│ 4│ 5│ 6│ 7│ 8│ 9│10│   …   │56│57│58│59│60│61│62│63│
//	     └──┴──┴──┴──┴──┴──┴──┴──┴──┴──┴──┴──    ──┴──┴──┴──┴──┴──┴──┴──┘
//	     ┌─────┬─────┬─────┬─────┬─────┬─────    ──┬─────┬─────┬─────┬─────┐
//	16   │  0  │  1  │  2  │  3  │  4  │     …     │ 28  │ 29  │ 30  │ 31  │
//	     └─────┴─────┴─────┴─────┴─────┴─────    ──┴─────┴─────┴─────┴─────┘
//
// A timer that was set at tick t holds 1 + t mod (2^b - 1). It holds 0 when it was never
// set, and after a sweep that finds it expired.
