// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"flag"
	"testing"

	"espalier.dev/internal/testkit"
)

var (
	rootsFlag      = flag.Int("roots", 1000, "how many root installations BenchmarkRoots creates")
	sharedFlag     = flag.Int("shared", 200, "how many root installations of one component BenchmarkComponent creates")
	releasesFlag   = flag.Int("releases", 200, "how many Helm releases BenchmarkReleases installs")
	containersFlag = flag.Int("containers", 100, "how many items of the container deployer BenchmarkContainers runs")
	finishedFlag   = flag.Int("finished", 5000, "how many finished installations BenchmarkCrowd puts beside the ones that it measures")
	floodFlag      = flag.Int("flood", 400, "how many jobs BenchmarkFairness has in one namespace while it measures those of another")
	startedFlag    = flag.Int("started", 10000, "how many finished installations BenchmarkStart has when the controllers start")
	idleFlag       = flag.Duration("idle", idleTime, "how long BenchmarkRoots looks for writes when all is done")
	churnFlag      = flag.Int("churn", 100, "how many installations BenchmarkChurn creates and deletes in each cycle")
	cyclesFlag     = flag.Int("cycles", 20, "how many cycles BenchmarkChurn has")
	shownFlag      = flag.Int("shown", 10000, "how many installations BenchmarkPages shows")
	pagesFlag      = flag.Int("pages", 200, "how many pages BenchmarkPages has open")
	heapFlag       = flag.String("heap", "", "folder for a heap profile after each cycle of BenchmarkChurn")
)

func TestMain(m *testing.M) { testkit.Main(m) }
