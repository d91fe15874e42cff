// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"encoding/json"
	"errors"
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
