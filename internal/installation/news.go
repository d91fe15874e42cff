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

// HeardAnnotation remembers, on a root installation, of which job each of its predecessors has last told it. A
// predecessor that repeats itself after a crash finds its job there and asks for nothing.
const HeardAnnotation = "espalier.dev/heard-of"

// Hear adds the job of a predecessor to what an installation has heard, and reports whether it is news.
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

// Notice asks a successor to look at its imports: by the operation annotation, and by what it shall have heard, if that is not empty.
type Notice struct {
	Name, UID, Version string
	Heard              string
}

// Notices says whom of its successors an installation asks to look at their imports. A job asks for a job; an update asks those of the
// continuous flow to reconcile. It is an error if one has to be asked that is asked for something else.
func (o Observed) Notices(run dataflow.Run, names []string) ([]Notice, error) {
	var notices []Notice
	for _, s := range o.Successors {
		if !slices.Contains(names, s.Name) {
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
		case !s.Continuous, s.Phase == lsv1alpha1.PhaseAborted: // its parent asks it, or somebody wants it to stay as it is
			continue
		case s.Operation != "":
			continue
		}
		notices = append(notices, notice)
	}
	return notices, nil
}
