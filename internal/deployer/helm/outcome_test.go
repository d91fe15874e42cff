// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	release "helm.sh/helm/v4/pkg/release/v1"

	"espalier.dev/internal/masking"
)

// Values of a chart's Secrets are masked before the log is cut, so that no part of one remains at the cut.
func TestWhatIsShownOfALog(t *testing.T) {
	const password, long = "pass-Word-4711", "0123456789-the-long-one-9876543210"
	o := outcome{secrets: &masking.Values{}}
	addSecretsOf(o.secrets, &release.Release{
		Manifest: "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: " + password + ", enabled: \"true\"}}\n---\n" +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {key: ordinary-words}}\n",
		Hooks: []*release.Hook{{
			Manifest: "{apiVersion: v1, kind: Secret, metadata: {name: c}, data: {key: MDEyMzQ1Njc4OS10aGUtbG9uZy1vbmUtOTg3NjU0MzIxMA==}}",
		}},
	}, map[string]bool{"true": true})
	for text, want := range map[string]string{
		"":                             "",
		" \n said \n":                  "said",
		"it is " + password + ", true": "it is <masked>, true",
		"and " + long + "\n":           "and <masked>",
		"ordinary-words":               "ordinary-words",
		"bytes \xff":                   "bytes ?",
	} {
		if got := o.shown(text); got != want {
			t.Errorf("of %q, %q is shown", text, got)
		}
	}
	for length := range 60 {
		shown := o.shown(strings.Repeat("ü", 100) + long + strings.Repeat("e", shownLog-60+length))
		if !utf8.ValidString(shown) || len(shown) > shownLog+3 || strings.Contains(shown, "10e") || strings.Contains(shown, "9876") {
			t.Fatalf("shown is %q", shown)
		}
	}
}

// An operation is not blamed on a test that failed earlier, and of several tests the last one counts.
func TestWhichHookHasFailed(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	failed := func(name string, at time.Time, events ...release.HookEvent) *release.Hook {
		return &release.Hook{
			Kind: "Pod", Name: name, Events: events, LastRun: release.HookExecution{StartedAt: at, Phase: release.HookPhaseFailed},
		}
	}
	first, second := failed("first", now, release.HookTest), failed("second", now.Add(time.Minute), release.HookTest)
	both := failed("both", now.Add(-time.Minute), release.HookTest, release.HookPostInstall)
	untouched := &release.Hook{Kind: "Pod", Name: "untouched", Events: []release.HookEvent{release.HookTest}}
	r := &release.Release{Hooks: []*release.Hook{first, second, untouched}}
	if hook := failedHook(r); hook != "" {
		t.Errorf("an operation is blamed on %s", hook)
	}
	if hook := failedTest(r); hook != second {
		t.Errorf("the failed test is %+v", hook)
	}
	r.Hooks = append(r.Hooks, both)
	if hook := failedHook(r); !strings.Contains(hook, "Pod both") {
		t.Errorf("an operation is blamed on %q", hook)
	}
	if hook := failedTest(nil); hook != nil {
		t.Errorf("without a release, there is %+v", hook)
	}
}
