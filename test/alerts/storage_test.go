// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// start is the time of the first samples.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var (
	language = parser.NewParser(parser.Options{})
	engine   = promql.NewEngine(promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute, Parser: language})
)

// storage keeps series in memory.
type storage []promstorage.Series

// load reads series with one sample a minute.
func load(t *testing.T, descriptions []string) storage {
	t.Helper()
	var s storage
	for _, description := range descriptions {
		name, values, err := language.ParseSeriesDesc(description)
		if err != nil {
			t.Fatalf("%s: %v", description, err)
		}
		var samples []chunks.Sample
		for i, value := range values {
			if !value.Omitted {
				samples = append(samples, point{start.Add(time.Duration(i) * time.Minute).UnixMilli(), value.Value})
			}
		}
		s = append(s, promstorage.NewListSeries(name, samples))
	}
	return s
}

// Querier implements storage.Queryable.
func (s storage) Querier(_, _ int64) (promstorage.Querier, error) { return querier{s}, nil }

type querier struct{ series storage }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	selected := &seriesSet{at: -1}
	for _, s := range q.series {
		matches := true
		for _, m := range matchers {
			matches = matches && m.Matches(s.Labels().Get(m.Name))
		}
		if matches {
			selected.series = append(selected.series, s)
		}
	}
	return selected
}

// LabelValues implements storage.Querier; the engine does not call it.
func (querier) LabelValues(context.Context, string, *promstorage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier; the engine does not call it.
func (querier) LabelNames(context.Context, *promstorage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

type seriesSet struct {
	series []promstorage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() promstorage.Series          { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// point is one sample.
type point struct {
	time  int64
	value float64
}

func (p point) ST() int64                   { return 0 }
func (p point) T() int64                    { return p.time }
func (p point) F() float64                  { return p.value }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample         { return p }
