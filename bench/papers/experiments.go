package main

import (
	"github.com/flowdedup/flowdedup/bench/papers/internal/biased"
	"github.com/flowdedup/flowdedup/bench/papers/internal/clicks"
	"github.com/flowdedup/flowdedup/bench/papers/internal/distributed"
	"github.com/flowdedup/flowdedup/bench/papers/internal/quotient"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/rivals"
	"github.com/flowdedup/flowdedup/bench/papers/internal/sliding"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stable"
)

// experiments returns all experiments in the order of the papers.
func experiments() []result.Experiment {
	return []result.Experiment{
		stable.Experiment(),
		biased.Experiment(),
		clicks.Experiment(),
		quotient.Experiment(),
		distributed.Experiment(),
		sliding.Experiment(),
		rivals.Experiment(),
	}
}
