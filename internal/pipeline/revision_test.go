// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"strings"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// What the first environment reports, what is written for it, and what Flux then reports in the next one, per kind of source.
var arrivals = []struct{ name, reported, written, then string }{
	{"pull request, pinned by commit", "refs/pull/420/head@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"tag that is no version, pinned by commit", "stable@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"tag of a path, pinned by commit", "shop/v1.2.3@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"bucket", "sha256:0123abc", "sha256:0123abc", "sha256:0123abc"},
	{"artifact by a path, pinned by digest", "team/main@sha256:0123abc", "sha256:0123abc", "sha256:0123abc"},
	{"artifact with a longer digest", "latest@sha512:0123abc", "sha512:0123abc", "sha512:0123abc"},
	{"chart by its version", "6.5.0", "6.5.0", "6.5.0"},
	{"chart by a version with a build", "6.5.0+build.7", "6.5.0+build.7", "6.5.0+build.7"},
	{"branch, pinned by commit", "main@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"branch, pinned by commit on a branch", "main@sha1:0123abc", "0123abc", "main@sha1:0123abc"},
	{"branch, pinned by commit on another branch", "main@sha1:0123abc", "0123abc", "release@sha1:0123abc"},
	{"reference, pinned by commit", "refs/heads/main@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"commit in both", "sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"tag", "v1.2.3@sha1:0123abc", "v1.2.3", "v1.2.3@sha1:0123abc"},
	{"tag by its reference", "refs/tags/v1.2.3@sha1:0123abc", "v1.2.3", "v1.2.3@sha1:0123abc"},
	{"branch with an at sign", "user@fix@sha1:0123abc", "0123abc", "sha1:0123abc"},
	{"artifact by its tag", "1.2.3@sha256:0123abc", "1.2.3", "1.2.3@sha256:0123abc"},
	{"newest artifact, pinned by digest", "latest@sha256:0123abc", "sha256:0123abc", "sha256:0123abc"},
	{"artifact by digest in both", "sha256:0123abc", "sha256:0123abc", "sha256:0123abc"},
	{"artifact by its tag, pinned by digest", "1.2.3@sha256:0123abc", "1.2.3", "sha256:0123abc"},
}

func TestPIP11_PIP23_APinnedRevisionArrives(t *testing.T) {
	for _, mode := range []pipelines.Mode{pipelines.ModeSuperseding, pipelines.ModePairwise} {
		for _, test := range arrivals {
			t.Run(string(mode)+" "+test.name, func(t *testing.T) {
				s := newScene(t, notifications(), []Target{at(test.reported)}, []Target{at("main@sha1:fff")}, []Target{at("sha1:fff")})
				s.Spec.AppRef.Kind, s.Spec.Mode = "Kustomization", mode
				s.decide()
				for i, name := range []string{"b", "c"} {
					promotion := s.record(name)
					if value := promotion.Value; value != test.written && !(value == "" && promotion.Revision == test.written) {
						t.Fatalf("%q is written for %s", value, promotion.Revision)
					}
					s.finish(Attempt{State: AttemptDone}).decide()
					s.set(i+1, at(test.then)).decide()
					s.wantState(name, pipelines.PromotionComplete)
					if got := s.Status.Environments[name].Targets[0].Revision; got != test.then {
						t.Errorf("the status says %s, where Flux reports %s", got, test.then)
					}
				}
				if s.Status.Run.CompletionTime == nil || s.Status.Run.Number != 1 || s.Status.Run.Revision != test.reported {
					t.Errorf("the run is %+v", s.Status.Run)
				}
				if done := s.decide(); len(done) > 0 {
					t.Errorf("at rest it does %v", done)
				}
			})
		}
	}
}

func TestRevisionsThatMeanTheSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"1.0.0", "1.0.0", true},
		{"1.0.0", "1.0.1", false},
		{"main@sha1:a", "sha1:a", true},
		{"main@sha1:a", "sha1:b", false},
		{"main@sha1:a", "main@sha1:b", false},
		{"sha1:a", "sha256:a", false},
		{"v1.0.0@sha1:a", "sha1:a", true},
		{"v1.0.0@sha1:a", "main@sha1:a", true},
		{"v1.0.0-rc.1@sha1:a", "v1.0.0@sha1:a", false},
		{"refs/tags/v1.0.0@sha1:a", "v1.0.0@sha1:a", true},
		{"build-7@sha256:a", "build-8@sha256:a", false},
		{"main@sha1:a", "main", false},
		{"user@host", "other@host", false},
		{"", "sha1:a", false},
		{"sha256:a", "sha256:a", true},
		{"sha256:a", "sha256:b", false},
		{"latest@sha256:a", "sha256:a", true},
		{"latest@sha256:a", "latest@sha256:b", false},
		{"1.0.0@sha256:a", "1.0.0@sha256:b", false},
		{"6.5.0", "6.5.0@sha256:a", false},
	} {
		if sameRevision(test.a, test.b) != test.same || sameRevision(test.b, test.a) != test.same {
			t.Errorf("%s and %s: %t, want %t", test.a, test.b, !test.same, test.same)
		}
	}
}

// Flux appends the digest of its archive to the version of a chart that comes from an OCI registry. Which archive has that version makes no
// difference, nor does the kind of source that the next environment uses.
func TestPIP11_PIP23_AChartArrivesFromEverySource(t *testing.T) {
	for name, test := range map[string]struct{ reported, then string }{
		"a chart repository in both":     {"6.5.0", "6.5.0"},
		"a registry in both":             {"6.5.0+0123456789ab", "6.5.0+0123456789ab"},
		"another archive in the next":    {"6.5.0+0123456789ab", "6.5.0+fedcba987654"},
		"a repository, then a registry":  {"6.5.0", "6.5.0+0123456789ab"},
		"a registry, then a repository":  {"6.5.0+0123456789ab", "6.5.0"},
		"a candidate, from two archives": {"6.5.0-rc.1+0123456789ab", "6.5.0-rc.1+fedcba987654"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at(test.reported)}, []Target{at("6.4.0+0123456789ab")})
			s.Spec.AppRef.Kind = "HelmRelease"
			s.decide()
			version, _, _ := strings.Cut(test.reported, "+")
			if got := s.record("b").Revision; got != version {
				t.Fatalf("%s is promoted", got)
			}
			s.finish(Attempt{State: AttemptDone}).decide()
			s.wantState("b", pipelines.PromotionSucceeded)
			s.set(1, at(test.then)).decide()
			s.wantState("b", pipelines.PromotionComplete)
		})
	}
}

// A release with the same content as its candidate is promoted nevertheless: the other environments should report the release.
func TestAReleaseFollowsItsCandidate(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("v1.0.0@sha1:a")}, []Target{at("v1.0.0-rc.1@sha1:a")})
	s.Spec.AppRef.Kind = "Kustomization"
	s.decide()
	s.wantState("b", pipelines.PromotionAttempting)
}

// A rollback is recognised in any spelling of the revision.
func TestARollbackIsSeenInEverySpelling(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("main@sha1:a")}, []Target{at("sha1:b")})
	s.Spec.AppRef.Kind = "Kustomization"
	s.decide()
	s.finish(Attempt{State: AttemptDone}).decide()
	s.set(1, Target{Revision: "sha1:b", AttemptedRevision: "sha1:a", Failing: true, Message: "it does not start"}).decide()
	s.wantState("b", pipelines.PromotionStalled)
}

func TestPIP06_WhereNothingWasDeployedNothingIsPromotedUnlessAskedFor(t *testing.T) {
	empty := Target{NeverDeployed: true, Message: "no condition Ready yet"}
	for name, environment := range map[string][]Target{"alone": {empty}, "beside another": {at("0"), empty}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("1")}, environment)
			if done := s.decide(); len(done) > 0 || s.Status.Environments["b"].Promotion != nil {
				t.Fatalf("it does %v", done)
			}
			if hold := s.Status.Holds[0]; hold.Reason != pipelines.HoldNeverDeployed || hold.Environment != "b" {
				t.Errorf("the hold is %+v", hold)
			}
			s.Spec.Environments[1].FirstRelease = true
			s.Generation++
			s.decide()
			s.wantState("b", pipelines.PromotionAttempting)
		})
	}
}
