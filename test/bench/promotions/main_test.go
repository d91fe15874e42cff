// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"flag"
	"testing"
	"time"

	"espalier.dev/internal/testkit"
)

var (
	pipelinesFlag = flag.Int("pipelines", 1000, "how many pipelines BenchmarkPipelines creates")
	clustersFlag  = flag.Int(
		"clusters",
		20,
		"over how many clusters their environments are spread; also how many pipelines are looked at closely",
	)
	roundsFlag = flag.Int("rounds", 5, "how often each of a few pipelines promotes by itself")
	idleFlag   = flag.Duration("idle", 30*time.Second, "how long to look for requests when all is done")
)

func TestMain(m *testing.M) { testkit.Main(m) }
