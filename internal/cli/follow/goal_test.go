// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
	"espalier.dev/internal/run"
)

// revision writes a revision of an installation in short.
type revision struct {
	uid                        string
	asked                      bool
	granted                    string
	job, finished, requestedID string
	phase                      lsv1alpha1.Phase
	deleting                   bool
	suspended                  bool
}

func (r revision) object() *lsv1alpha1.Installation {
	i := &lsv1alpha1.Installation{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: types.UID("uid" + r.uid), Annotations: map[string]string{}},
	}
	if r.asked {
		i.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)
	}
	if r.granted != "" {
		i.Annotations[run.GrantAnnotation] = run.FormatGrant(r.granted, string(i.UID))
	}
	if r.suspended {
		i.Annotations[lsv1alpha1.SuspendAnnotation] = "true"
	}
	if r.deleting {
		at := metav1.Now()
		i.DeletionTimestamp = &at
	}
	i.Status.JobID, i.Status.JobIDFinished, i.Status.JobIDRequested, i.Status.Phase = r.job, r.finished, r.requestedID, r.phase
	return i
}

const (
	progressing  = lsv1alpha1.PhaseProgressing
	succeeded    = lsv1alpha1.PhaseSucceeded
	failed       = lsv1alpha1.PhaseFailed
	deleteFailed = lsv1alpha1.PhaseDeleteFailed
)

// gone stands for an installation that does not exist.
var gone = revision{uid: "gone"}

// endOf returns after how many revisions the wait has ended, and how; -1 if it has not.
func endOf(goal follow.Goal, revisions []revision) (int, *follow.End) {
	for i, r := range revisions {
		var object *lsv1alpha1.Installation
		if r != gone {
			object = r.object()
		}
		if end := goal.See(object); end != nil {
			return i, end
		}
	}
	return -1, nil
}

func TestJobOfRequest(t *testing.T) {
	for name, test := range map[string]struct {
		asked revision
		then  []revision
		ends  int
		code  int
		job   string
	}{
		"the regular way": {
			revision{asked: true},
			[]revision{{asked: true}, {granted: "a"}, {granted: "a", job: "a", requestedID: "a", phase: progressing}, {granted: "a", job: "a", finished: "a", requestedID: "a", phase: succeeded}},
			3, cli.ExitOK, "a",
		},
		"a failure": {
			revision{asked: true},
			[]revision{{granted: "a"}, {granted: "a", job: "a", finished: "a", requestedID: "a", phase: failed}},
			1, cli.ExitFailed, "a",
		},
		"everything happened before the first look": {
			revision{asked: true, job: "a", finished: "a", requestedID: "a", granted: "a", phase: failed},
			[]revision{{granted: "b", job: "b", finished: "b", requestedID: "b", phase: succeeded}},
			0, cli.ExitOK, "b",
		},
		"an earlier job fails meanwhile": {
			revision{asked: true, granted: "a", job: "a", requestedID: "a", phase: progressing},
			[]revision{
				{asked: true, granted: "a", job: "a", requestedID: "a", phase: progressing},
				{asked: true, granted: "a", job: "a", finished: "a", requestedID: "a", phase: failed},
				{granted: "b", job: "a", finished: "a", requestedID: "a", phase: failed},
				{granted: "b", job: "b", finished: "a", requestedID: "b", phase: progressing},
				{granted: "b", job: "b", finished: "b", requestedID: "b", phase: succeeded},
			},
			4, cli.ExitOK, "b",
		},
		"an earlier request was granted and not adopted": {
			revision{asked: true, granted: "a"},
			[]revision{{asked: true, granted: "a", job: "a", requestedID: "a", phase: progressing}, {asked: true, granted: "a", job: "a", finished: "a", requestedID: "a", phase: failed}},
			-1, 0, "",
		},
		"a job that began by itself": {
			revision{asked: true, granted: "a", job: "a", finished: "a", requestedID: "a", phase: succeeded},
			[]revision{{asked: true, granted: "a", job: "x", finished: "a", requestedID: "a", phase: progressing}, {asked: true, granted: "a", job: "x", finished: "x", requestedID: "a", phase: failed}},
			-1, 0, "",
		},
		"somebody asks again while it runs": {
			revision{asked: true},
			[]revision{
				{granted: "a", job: "a", requestedID: "a", phase: progressing},
				{asked: true, granted: "a", job: "a", requestedID: "a", phase: progressing},
				{asked: true, granted: "a", job: "a", finished: "a", requestedID: "a", phase: failed},
				{granted: "b", job: "b", finished: "b", requestedID: "b", phase: succeeded},
			},
			2, cli.ExitFailed, "a",
		},
		"its end was missed": {
			revision{asked: true},
			[]revision{{granted: "a", job: "a", requestedID: "a", phase: progressing}, {granted: "b", job: "b", finished: "a", requestedID: "b", phase: progressing}, {granted: "b", job: "b", finished: "b", requestedID: "b", phase: succeeded}},
			2, cli.ExitOK, "b",
		},
		"a controller that grants nothing": {
			revision{asked: true, job: "a", finished: "a", phase: succeeded},
			[]revision{{asked: true, job: "b", finished: "a", phase: progressing}, {job: "b", finished: "a", phase: progressing}, {job: "b", finished: "b", phase: failed}},
			2, cli.ExitFailed, "b",
		},
		"it is deleted": {revision{asked: true}, []revision{{granted: "a"}, gone}, 1, cli.ExitNotFound, "a"},
		"it is replaced": {revision{asked: true}, []revision{{
			uid:      "another",
			job:      "a",
			finished: "a",
			phase:    succeeded,
		}}, 0, cli.ExitNotFound, ""},
		"its deletion is retried": {revision{asked: true, deleting: true, job: "a", finished: "a", phase: deleteFailed}, []revision{{
			granted:  "b",
			deleting: true,
		}, gone}, 1, cli.ExitOK, "b"},
		"its deletion fails anew": {
			revision{asked: true, deleting: true, job: "a", finished: "a", phase: deleteFailed},
			[]revision{{granted: "b", deleting: true, job: "b", finished: "b", requestedID: "b", phase: deleteFailed}},
			0, cli.ExitFailed, "b",
		},
		"it is suspended": {
			revision{asked: true, suspended: true},
			[]revision{{asked: true, suspended: true}},
			0, cli.ExitNeedsSomebody, "",
		},
		"it is suspended while it waits": {
			revision{asked: true},
			[]revision{{asked: true}, {asked: true, suspended: true}},
			1, cli.ExitNeedsSomebody, "",
		},
		"it is suspended after the job was granted": {
			revision{asked: true},
			[]revision{{granted: "a", suspended: true}, {granted: "a", job: "a", finished: "a", requestedID: "a", phase: succeeded, suspended: true}},
			1, cli.ExitOK, "a",
		},
		"it is suspended during the job before": {
			revision{asked: true, job: "a", phase: progressing},
			[]revision{{asked: true, job: "a", phase: progressing, suspended: true}, {asked: true, job: "a", finished: "a", phase: succeeded, suspended: true}},
			1, cli.ExitNeedsSomebody, "",
		},
		"its deletion is retried although it is suspended": {
			revision{asked: true, deleting: true, suspended: true, job: "a", finished: "a", phase: deleteFailed},
			[]revision{{asked: true, deleting: true, suspended: true, job: "a", finished: "a", phase: deleteFailed}, gone},
			1, cli.ExitOK, "",
		},
		"nothing happens": {revision{asked: true}, []revision{{asked: true}, {asked: true}}, -1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, follow.NewJobOfRequest(test.asked.object()), test.then, expectation{test.ends, test.code, test.job})
		})
	}
}

type expectation struct {
	ends, code int
	job        string
}

func check(t *testing.T, goal follow.Goal, then []revision, want expectation) {
	t.Helper()
	at, end := endOf(goal, then)
	switch {
	case at != want.ends:
		t.Errorf("ended at revision %d with %+v, want %d", at, end, want.ends)
	case end != nil && (end.Code != want.code || end.JobID != want.job || end.Verdict == ""):
		t.Errorf("ended with %+v, want code %d and job %q", end, want.code, want.job)
	}
}

func TestFinished(t *testing.T) {
	for name, test := range map[string]struct {
		then []revision
		want expectation
		// careless is the exit code if every end will do.
		careless int
	}{
		"it runs and succeeds": {[]revision{{
			job:   "a",
			phase: progressing,
		}, {job: "a", finished: "a", phase: succeeded}}, expectation{1, cli.ExitOK, "a"}, cli.ExitOK},
		"it has failed": {[]revision{{job: "a", finished: "a", phase: failed}}, expectation{0, cli.ExitFailed, "a"}, cli.ExitOK},
		"another job is asked for": {
			[]revision{{asked: true, job: "a", finished: "a", phase: failed}, {granted: "b", job: "a", finished: "a", requestedID: "a", phase: failed}, {granted: "b", job: "b", finished: "b", requestedID: "b", phase: succeeded}},
			expectation{2, cli.ExitOK, "b"}, cli.ExitOK,
		},
		"nobody has asked": {[]revision{{}}, expectation{0, cli.ExitNeedsSomebody, ""}, cli.ExitNeedsSomebody},
		"it is suspended, and was asked": {
			[]revision{{asked: true, suspended: true, job: "a", finished: "a", phase: succeeded}},
			expectation{0, cli.ExitNeedsSomebody, ""}, cli.ExitNeedsSomebody,
		},
		"it is suspended, and nobody has asked": {
			[]revision{{suspended: true, job: "a", finished: "a", phase: succeeded}}, expectation{0, cli.ExitOK, "a"}, cli.ExitOK,
		},
		"it is suspended, and has a job": {
			[]revision{{suspended: true, job: "a", phase: progressing}, {suspended: true, job: "a", finished: "a", phase: failed}},
			expectation{1, cli.ExitFailed, "a"}, cli.ExitOK,
		},
		"it does not exist": {[]revision{gone}, expectation{0, cli.ExitNotFound, ""}, cli.ExitNotFound},
		"it is replaced": {[]revision{{
			job:   "a",
			phase: progressing,
		}, {uid: "another"}}, expectation{1, cli.ExitNotFound, ""}, cli.ExitNotFound},
		"it runs on": {[]revision{{job: "a", phase: progressing}}, expectation{-1, 0, ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, &follow.Finished{Successfully: true}, test.then, test.want)
			test.want.code = test.careless
			check(t, &follow.Finished{}, test.then, test.want)
		})
	}
}

func TestGone(t *testing.T) {
	for name, test := range map[string]struct {
		then []revision
		want expectation
	}{
		"it goes":                 {[]revision{{deleting: true, job: "a", phase: progressing}, gone}, expectation{1, cli.ExitOK, ""}},
		"it was never there":      {[]revision{gone}, expectation{0, cli.ExitOK, ""}},
		"another takes its place": {[]revision{{deleting: true}, {uid: "another"}}, expectation{1, cli.ExitOK, ""}},
		"nobody deletes it":       {[]revision{{job: "a", finished: "a", phase: succeeded}}, expectation{0, cli.ExitNeedsSomebody, ""}},
		"its deletion has failed": {[]revision{{
			deleting: true,
			job:      "a",
			finished: "a",
			phase:    deleteFailed,
		}}, expectation{0, cli.ExitFailed, "a"}},
		"it is tried again": {
			[]revision{{deleting: true, asked: true, job: "a", finished: "a", phase: deleteFailed}, {deleting: true, job: "b", finished: "a", phase: deleteFailed}, gone},
			expectation{2, cli.ExitOK, ""},
		},
	} {
		t.Run(name, func(t *testing.T) { check(t, &follow.Gone{}, test.then, test.want) })
	}
}
