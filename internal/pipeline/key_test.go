// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"regexp"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestKeysDistinguishPromotions(t *testing.T) {
	base := Identity{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "1", Run: 1}
	seen := map[string]Identity{}
	for _, i := range []Identity{
		base,
		{Namespace: "a", Name: "b-c", Environment: "prod", Revision: "1", Run: 1},
		{Namespace: "a-b", Name: "c", Environment: "prod-eu", Revision: "1", Run: 1},
		{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "2", Run: 1},
		{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "1", Run: 2},
		{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "1", Run: 1, Retries: 1},
		{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "11", Run: 1},
		{Namespace: "a-b", Name: "c", Environment: "prod", Revision: "1", Run: 11},
	} {
		if other, found := seen[i.Key()]; found {
			t.Errorf("%+v and %+v have the same key", i, other)
		}
		seen[i.Key()] = i
	}
}

// If keys changed between versions of the program, it would not recognise what it has started.
func TestKeysStayTheSame(t *testing.T) {
	got := Identity{Namespace: "team", Name: "app", Environment: "prod", Revision: "1.2.3", Run: 4, Retries: 1}.Key()
	if want := "38551404f422f6fa"; got != want {
		t.Errorf("the key is %s, want %s", got, want)
	}
	if got, want := AnnotationSuffix("prod"), "f63a0075"; got != want {
		t.Errorf("the suffix is %s, want %s", got, want)
	}
}

func TestBranchesAreFitForGit(t *testing.T) {
	allowed := regexp.MustCompile(`^promotion-[A-Za-z0-9_.-]+-[0-9a-f]{8}$`)
	for environment, want := range map[string]string{
		"prod":        "promotion-team-app-prod-01234567",
		"First Env":   "promotion-team-app-First-Env-01234567",
		"eu/west":     "promotion-team-app-eu-west-01234567",
		"..a..b..":    "promotion-team-app-a.b-01234567",
		"a.lock":      "promotion-team-app-a-01234567",
		"~^:?*[\\@{x": "promotion-team-app-x-01234567",
		"größe":       "promotion-team-app-gr--e-01234567",
		"":            "promotion-team-app--01234567",
	} {
		got := Branch("team", "app", environment, "0123456789abcdef")
		if got != want || !allowed.MatchString(got) {
			t.Errorf("%q: %s, want %s", environment, got, want)
		}
	}
	long := Branch(string(make([]byte, 300)), string(make([]byte, 300)), string(make([]byte, 300)), "0123456789abcdef")
	if len(long) > 220 {
		t.Errorf("%d bytes", len(long))
	}
}

func TestRevisionsAndWhatIsWrittenForThem(t *testing.T) {
	for _, test := range []struct{ kind, revision, comparable, value string }{
		{"HelmRelease", "1.2.3", "1.2.3", "1.2.3"},
		{"HelmRelease", "1.2.3+0123456789ab", "1.2.3", "1.2.3"},
		{"HelmRelease", "1.2.3+build.5", "1.2.3+build.5", "1.2.3+build.5"},
		{"Installation", "1.2.3+0123456789ab", "1.2.3+0123456789ab", "1.2.3+0123456789ab"},
		{"Kustomization", "main@sha1:0123abc", "main@sha1:0123abc", "0123abc"},
		{"Kustomization", "feature/x@sha1:0123abc", "feature/x@sha1:0123abc", "0123abc"},
		{"Kustomization", "v1.2.3@sha1:0123abc", "v1.2.3@sha1:0123abc", "v1.2.3"},
		{"Kustomization", "refs/tags/v1.2.3@sha1:0123abc", "refs/tags/v1.2.3@sha1:0123abc", "v1.2.3"},
		{"Kustomization", "1.2.3@sha256:0123abc", "1.2.3@sha256:0123abc", "1.2.3"},
		{"Kustomization", "stable@sha256:0123abc", "stable@sha256:0123abc", "stable"},
		{"Kustomization", "latest@sha256:0123abc", "latest@sha256:0123abc", "sha256:0123abc"},
		{"Kustomization", "@sha256:0123abc", "@sha256:0123abc", "sha256:0123abc"},
		{"Terraform", "user@host", "user@host", "user@host"},
		{"HelmRelease", "", "", ""},
	} {
		if got := Comparable(test.kind, test.revision); got != test.comparable {
			t.Errorf("%s %s is compared as %s, want %s", test.kind, test.revision, got, test.comparable)
		}
		if got := Value(test.kind, test.revision); got != test.value {
			t.Errorf("%s %s is written as %s, want %s", test.kind, test.revision, got, test.value)
		}
	}
}

func TestDowngrades(t *testing.T) {
	for _, test := range []struct {
		revision, than string
		lower          bool
	}{
		{"1.0.0", "1.0.1", true},
		{"1.9.0", "1.10.0", true},
		{"1.0.0-rc.1", "1.0.0", true},
		{"1.0.1", "1.0.0", false},
		{"1.0.0", "1.0.0", false},
		{"v1.0.0@sha1:b", "v1.1.0@sha1:a", true},
		{"main@sha1:a", "main@sha1:b", false},
		{"1.0.0", "", false},
	} {
		if got := lower(test.revision, test.than); got != test.lower {
			t.Errorf("%s lower than %s: %v", test.revision, test.than, got)
		}
	}
}

func TestChartDigestsDoNotKeepARevisionFromArriving(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1.0.0+0123456789ab")}, []Target{at("1.0.0+ba9876543210")})
	s.wantPromotions()
	s.wantHolds()
	if s.Status.LatestRevision != "1.0.0" {
		t.Errorf("the latest revision is %s", s.Status.LatestRevision)
	}
}

func TestRetriesGrowAndAreSpread(t *testing.T) {
	var before time.Duration
	spreads := map[time.Duration]bool{}
	for attempts := int32(1); attempts < 40; attempts++ {
		wait := retryAfter("k", attempts)
		if attempts <= 6 && wait <= before || wait > longestTry*6/5 || wait < firstRetry*4/5 {
			t.Errorf("after attempt %d: %s, before %s", attempts, wait, before)
		}
		if wait != retryAfter("k", attempts) {
			t.Error("not the same again")
		}
		before = wait
		spreads[retryAfter(string(rune('a'+attempts)), 1)] = true
	}
	if len(spreads) < 30 {
		t.Errorf("only %d different times", len(spreads))
	}
}

func TestServersThatAskForPatienceGetIt(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	until := s.Now.Add(2 * time.Hour)
	s.finish(Attempt{State: AttemptFailed, Error: AttemptError{Reason: "TooMany", Message: "slow down", RetryAfter: until}}).decide()
	if next := s.record("b").NextAttemptTime; !next.Time.Equal(until) {
		t.Errorf("the next attempt is at %s", next)
	}
	s.wantState("b", pipelines.PromotionFailed)
}
