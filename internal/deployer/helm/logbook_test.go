// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// When Helm merges values, it prints them to the standard logger. That is prevented.
func TestHelmPrintsNoValues(t *testing.T) {
	quietly()
	filtered := log.Writer()
	t.Cleanup(func() { log.SetOutput(filtered) })
	var loud, quiet bytes.Buffer
	for _, out := range []struct {
		writer *bytes.Buffer
		set    func()
	}{{&loud, func() { log.SetOutput(&loud) }}, {&quiet, func() { log.SetOutput(&warningless{next: &quiet}) }}} {
		out.set()
		c := &chart.Chart{Metadata: &chart.Metadata{Name: "x"}, Values: map[string]any{
			"top": map[string]any{"table": map[string]any{"word": "correct-horse"}, "flat": "battery"},
		}}
		given := map[string]any{"top": map[string]any{"table": "flat", "flat": map[string]any{"a": "b"}}}
		if _, err := util.CoalesceValues(c, given); err != nil {
			t.Fatal(err)
		}
		log.Print("something else")
	}
	if !strings.Contains(loud.String(), "correct-horse") || !strings.Contains(loud.String(), "battery") {
		t.Errorf("Helm prints no values any more, so nothing has to be left out: %s", &loud)
	}
	if got := quiet.String(); strings.Contains(got, "correct-horse") || strings.Contains(got, "battery") ||
		!strings.Contains(got, "something else") {
		t.Errorf("this was printed: %s", got)
	}
	if _, ok := filtered.(*warningless); !ok {
		t.Errorf("the standard logger writes to a %T", filtered)
	}
}

// What Helm only logs is kept for errors: the last few lines, each once.
func TestTheLogbookKeepsErrors(t *testing.T) {
	book := &logbook{}
	logger := slog.New(book)
	logger.Debug("values", "values", "secret")
	for i := range 8 {
		logger.Warn("failed", slog.Any("error", errors.New(fmt.Sprint("problem ", i/2))))
	}
	logger.With("a", "b").WithGroup("c").Error("failed", slog.Any("error", errors.New("last")))
	if got := book.told(); got != "problem 0; problem 1; problem 2; problem 3; last" {
		t.Errorf("it tells %q", got)
	}
}
