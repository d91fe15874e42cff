// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
)

// What was last seen may be long ago if the server has gone away meanwhile.
func TestTimeoutTellsWhetherTheAnswerIsOld(t *testing.T) {
	object := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	object.Status.RunStatus = lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseProgressing, JobID: "a"}
	r := &waiting{Wait: Wait{Timeout: time.Minute}}
	fresh := r.timedOut(nodeOf(object), nil)
	want := &End{Code: cli.ExitTimeout, Phase: lsv1alpha1.PhaseProgressing, JobID: "a", Verdict: "is not done after 1m0s, in phase Progressing"}
	if diff := cmp.Diff(want, fresh); diff != "" {
		t.Error(diff)
	}
	r.outdated = errors.New("connection refused")
	if old := r.timedOut(nodeOf(object), nil); old.Code != cli.ExitTimeout || !strings.HasSuffix(old.Verdict, "Progressing when last seen: the API server does not respond") {
		t.Errorf("got %+v", old)
	}
	if unknown := r.timedOut(nil, nil); unknown.Code != cli.ExitTimeout {
		t.Errorf("got %+v", unknown)
	}
}
