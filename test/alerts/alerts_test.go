// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"sigs.k8s.io/yaml"
)

// alert is a rule of Prometheus.
type alert struct {
	Alert, Expr, For string
	Annotations      map[string]string
}

// alerts returns the rules by name.
func alerts(t *testing.T) map[string]alert {
	t.Helper()
	text, err := os.ReadFile("../../config/components/alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]alert{}
	for _, group := range file.Spec.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule
		}
	}
	return all
}

// example is what a Prometheus has collected once a minute, and what fires at the end.
type example struct {
	name string
	// series are in the notation of promtool: "metric{labels} values", where 1+2x3 stands for 1 3 5 7, and _ for no sample.
	series []string
	// minutes is when the alert is judged, after the first samples.
	minutes int
	// fires lists the labels of the alerts that fire.
	fires []string
}

// Each alert fires when it should, and does not fire for what looks similar and is harmless.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	rules := alerts(t)
	for name := range examples {
		if _, exists := rules[name]; !exists {
			t.Errorf("there is no alert %s", name)
		}
	}
	for name, rule := range rules {
		var firing, silent bool
		for _, e := range examples[name] {
			firing, silent = firing || len(e.fires) > 0, silent || len(e.fires) == 0
			t.Run(name+" "+e.name, func(t *testing.T) {
				got := rule.firing(t, load(t, e.series), e.minutes)
				if !slices.Equal(got, e.fires) {
					t.Errorf("after %d minutes, %q fires, want %q", e.minutes, got, e.fires)
				}
			})
		}
		if !firing || !silent {
			t.Errorf("%s has no example in which it fires, or none in which it does not", name)
		}
	}
}

// firing evaluates the rule every minute, and returns the labels for which it has had a result for as long as it demands.
func (a alert) firing(t *testing.T, samples storage, minute int) []string {
	t.Helper()
	var held time.Duration
	if a.For != "" {
		var err error
		if held, err = time.ParseDuration(a.For); err != nil {
			t.Fatal(err)
		}
	}
	var firing []string
	for at := time.Duration(minute)*time.Minute - held; at <= time.Duration(minute)*time.Minute; at += time.Minute {
		results := a.evaluate(t, samples, at)
		if at == time.Duration(minute)*time.Minute-held {
			firing = results
		}
		firing = slices.DeleteFunc(firing, func(l string) bool { return !slices.Contains(results, l) })
	}
	return firing
}

var namedLabel = regexp.MustCompile(`\$labels\.(\w+)`)

// evaluate returns the labels of the results at a time, in order, and checks that the annotations find the labels that they name.
func (a alert) evaluate(t *testing.T, samples storage, at time.Duration) []string {
	t.Helper()
	query, err := engine.NewInstantQuery(t.Context(), samples, promql.NewPrometheusQueryOpts(false, 0), a.Expr, start.Add(at))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, sample := range vector {
		results = append(results, sample.Metric.String())
		for _, text := range a.Annotations {
			for _, named := range namedLabel.FindAllStringSubmatch(text, -1) {
				if sample.Metric.Get(named[1]) == "" {
					t.Errorf("the annotation %q names the label %s, which %s lacks", text, named[1], sample.Metric)
				}
			}
		}
	}
	slices.Sort(results)
	return results
}

// The samples of tests are those that promtool would read, and labels select them.
func TestSamples(t *testing.T) {
	samples := load(t, []string{`a{b="c"} 1+2x2 _ 9`, `a{b="e"} 7x4`, `f{b="c"} 7x4`})
	for minute, want := range map[int]string{0: "1", 2: "5", 4: "9"} {
		query, err := engine.NewInstantQuery(context.Background(), samples, promql.NewPrometheusQueryOpts(false, 0), `a{b=~"c|d"}`,
			start.Add(time.Duration(minute)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil || len(vector) != 1 || fmt.Sprint(vector[0].F) != want || vector[0].Metric.Get("__name__") != "a" {
			t.Errorf("after %d minutes: %v, %v, want %s", minute, vector, err, want)
		}
		query.Close()
	}
}
