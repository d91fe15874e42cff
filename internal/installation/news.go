// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// HeardAnnotation records, on a root installation, the last job that each of its predecessors announced. A predecessor that repeats an
// announcement after a crash finds its job recorded and requests nothing.
const HeardAnnotation = "espalier.dev/heard-of"

// Hear adds the job of a predecessor to the recorded announcements of an installation, and reports whether it is new.
func Hear(heard, predecessor, job string) (now string, news bool) {
	entries := strings.FieldsFunc(heard, func(r rune) bool { return r == ',' })
	entry := predecessor + "=" + job
	if slices.Contains(entries, entry) {
		return heard, false
	}
	entries = slices.DeleteFunc(entries, func(e string) bool { return strings.HasPrefix(e, predecessor+"=") })
	entries = append(entries, entry)
	slices.Sort(entries)
	return strings.Join(entries, ","), true
}

// Notice asks a successor to check its imports: by the operation annotation, and by the new value of HeardAnnotation, if that is not
// empty.
type Notice struct {
	Name, UID, Version string
	Heard              string
}

// updatesOnResume reports whether a suspended sibling checks its imports anyway once it is resumed. No other request is possible until
// then. In the job flow, the operation has no effect, and the announcement of the job must be recorded.
func (s Sibling) updatesOnResume() bool {
	return s.Suspended && s.Continuous && s.Operation == lsv1alpha1.OperationForceReconcile
}

// Notices returns the successors that an installation asks to check their imports. A job requests a job; an update requests a
// reconcile from those in the continuous flow. If a successor that must be asked has another pending operation, that is an error.
func (o Observed) Notices(run dataflow.Run, names []string) ([]Notice, error) {
	var notices []Notice
	for _, s := range o.Successors {
		if !slices.Contains(names, s.Name) || s.updatesOnResume() {
			continue
		}
		notice := Notice{Name: s.Name, UID: s.UID, Version: s.Version}
		switch {
		case run.Flow != lsv1alpha1.FlowContinuous, !s.Continuous && s.Root:
			heard, news := Hear(s.Heard, o.Name, run.Version)
			if !news {
				continue
			}
			if s.Operation != "" && s.Operation != lsv1alpha1.OperationReconcile {
				return nil, &failure.Wait{Reason: "WaitingForOperation", For: fmt.Sprintf("operation %s of installation %s", s.Operation, s.Name)}
			}
			notice.Heard = heard
		case !s.Continuous, s.Phase == lsv1alpha1.PhaseAborted: // its parent asks it, or a user wants it to stay as it is
			continue
		case s.Operation != "":
			continue
		}
		notices = append(notices, notice)
	}
	return notices, nil
}
