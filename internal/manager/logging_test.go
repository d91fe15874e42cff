// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestLogLevels(t *testing.T) {
	tests := map[string][]string{
		"error": {"problem"},
		"info":  {"problem", "news"},
		"0":     {"problem", "news"},
		"debug": {"problem", "news", "detail"},
		"1":     {"problem", "news", "detail"},
		"5":     {"problem", "news", "detail", "minutia"},
	}
	for level, want := range tests {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLogger(&out, LogOptions{Format: LogJSON, Level: level})
			if err != nil {
				t.Fatal(err)
			}
			log.Error(errors.New("boom"), "problem")
			log.Info("news")
			log.V(1).Info("detail")
			log.V(5).Info("minutia")
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != len(want) {
				t.Fatalf("got %d lines: %s", len(lines), out.String())
			}
			for i, line := range lines {
				var entry map[string]any
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				if entry["msg"] != want[i] || entry["time"] == nil || entry["level"] == nil {
					t.Errorf("line %d is %s", i, line)
				}
			}
		})
	}
}

func TestEachEventIsOneLine(t *testing.T) {
	for _, format := range []string{LogJSON, LogConsole} {
		var out bytes.Buffer
		log, err := NewLogger(&out, LogOptions{Format: format, Level: "debug"})
		if err != nil {
			t.Fatal(err)
		}
		log.WithName("x").WithValues("a", 1).Error(errors.New("one\ntwo"), "problem")
		log.WithName("x").WithValues("a", 1).Error(errors.New("not there yet"), reconcilerError)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || strings.Contains(out.String(), "stacktrace") {
			t.Fatalf("%s: got %d lines:\n%s", format, len(lines), out.String())
		}
		if first := strings.ToLower(lines[0]); !strings.Contains(first, "error") || !strings.Contains(first, "problem") {
			t.Errorf("%s: a problem is told as %s", format, lines[0])
		}
		second := strings.ToLower(lines[1])
		for _, word := range []string{"warn", "retrying", "not there yet"} {
			if !strings.Contains(second, word) {
				t.Errorf("%s: what is tried again is told without %q: %s", format, word, lines[1])
			}
		}
		if strings.Contains(second, strings.ToLower(reconcilerError)) {
			t.Errorf("%s: what is tried again is told as an error: %s", format, lines[1])
		}
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, DefaultLogOptions())
	if err != nil {
		t.Fatal(err)
	}
	w := &warnings{log: log}
	tell := func(code int, text string) { w.HandleWarningHeaderWithContext(t.Context(), code, "-", text) }
	for range 3 {
		tell(
			299,
			`metadata.finalizers: "finalizer.landscaper.gardener.cloud": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
		)
		tell(299, "v1 Thing is deprecated")
		tell(299, "")
		tell(110, "stale")
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "v1 Thing is deprecated") {
		t.Errorf("got:\n%s", got)
	}
	for i := range 2 * manyWarnings {
		tell(299, strconv.Itoa(i))
	}
	if len(w.told) > manyWarnings {
		t.Errorf("%d warnings are remembered", len(w.told))
	}
}

func TestConsoleIsNotJSON(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{Format: LogConsole, Level: "info"})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("news")
	if !strings.Contains(out.String(), "news") || strings.HasPrefix(out.String(), "{") {
		t.Errorf("got %s", out.String())
	}
}

func TestLogOptionsAreChecked(t *testing.T) {
	tests := map[string]LogOptions{
		`--log-format is "xml"`:   {Format: "xml", Level: "info"},
		`--log-level is "silent"`: {Format: LogJSON, Level: "silent"},
		`--log-level is "-1"`:     {Format: LogJSON, Level: "-1"},
		`--log-level is "11"`:     {Format: LogJSON, Level: "11"},
	}
	for want, opts := range tests {
		if _, err := NewLogger(&bytes.Buffer{}, opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}
