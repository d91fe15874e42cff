// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

func TestFinishedMeansEqualIDs(t *testing.T) {
	for name, c := range map[string]struct {
		job     run.Job
		running bool
	}{
		"never had a job": {run.Job{}, false},
		"first job":       {run.Job{ID: "a"}, true},
		"finished":        {run.Job{ID: "a", FinishedID: "a"}, false},
		"the next job":    {run.Job{ID: "b", FinishedID: "a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.job.Running(); got != c.running {
				t.Errorf("Running() = %v, want %v", got, c.running)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	finished := run.Job{ID: "a", FinishedID: "a", RequestedID: "a"}
	for name, c := range map[string]struct {
		job     run.Job
		request run.Request
		want    run.Opening
	}{
		"nothing asked, never run":                       {run.Job{}, run.Request{}, run.OpenNot},
		"asked, never run":                               {run.Job{}, run.Request{Asked: true}, run.OpenByGrant},
		"asked again after a job":                        {finished, run.Request{Asked: true, GrantedID: "a"}, run.OpenByGrant},
		"asked while a job runs":                         {run.Job{ID: "a"}, run.Request{Asked: true}, run.OpenNot},
		"granted, not adopted":                           {finished, run.Request{GrantedID: "b"}, run.OpenByAdoption},
		"granted and adopted":                            {finished, run.Request{GrantedID: "a"}, run.OpenNot},
		"granted and asked once more":                    {finished, run.Request{Asked: true, GrantedID: "b"}, run.OpenByAdoption},
		"granted while a job began otherwise":            {run.Job{ID: "c", FinishedID: "a", RequestedID: "a"}, run.Request{GrantedID: "b"}, run.OpenNot},
		"a job that began otherwise revives no old one":  {run.Job{ID: "c", FinishedID: "c", RequestedID: "a"}, run.Request{GrantedID: "a"}, run.OpenNot},
		"a grant waits out a job that began otherwise":   {run.Job{ID: "c", FinishedID: "c", RequestedID: "a"}, run.Request{GrantedID: "b"}, run.OpenByAdoption},
		"the status was lost and the grant is the old's": {run.Job{}, run.Request{GrantedID: run.ParseGrant(run.FormatGrant("a", "old uid"), "new uid")}, run.OpenNot},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.job.Open(c.request); got != c.want {
				t.Errorf("Open() = %v, want %v", got, c.want)
			}
		})
	}
}

// One request, followed through all interleavings of its two writes with repetitions, starts one job.
func TestOneRequestOneJob(t *testing.T) {
	status, request := lsv1alpha1.RunStatus{}, run.Request{Asked: true}
	started := 0
	for range 10 {
		switch run.JobOf(&status).Open(request) {
		case run.OpenByGrant:
			request = run.Request{GrantedID: "job-1"}
		case run.OpenByAdoption:
			run.Adopt(&status, request.GrantedID, lsv1alpha1.PhaseInit, now)
			started++
		case run.OpenNot:
			run.Settle(&status, run.Outcome{Next: lsv1alpha1.PhaseSucceeded, Now: now})
		}
	}
	if started != 1 || status.JobID != "job-1" || !status.IsFinished() {
		t.Errorf("started %d jobs, ended with %+v, want exactly job-1, finished", started, status)
	}
}

func TestGrant(t *testing.T) {
	if got := run.ParseGrant(run.FormatGrant("job", "uid"), "uid"); got != "job" {
		t.Errorf("round trip = %q", got)
	}
	for _, value := range []string{"", "job", "job/other", "/", "job/uid/uid"} {
		if got := run.ParseGrant(value, "uid"); got != "" {
			t.Errorf("ParseGrant(%q) = %q, want nothing", value, got)
		}
	}
}
