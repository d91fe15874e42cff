// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// UpdateAnnotation records, on the objects that an update has written below an installation in the continuous flow, that update and the
// previous one. The status records an update only after its writes. If a user suspends or freezes the installation between the two, or the
// process ends there, the phase is still that of the earlier update: only these objects show that another one is in progress. An update
// that only deletes objects leaves no trace, because a user may have deleted them; it is repeated on resume.
const UpdateAnnotation = "espalier.dev/update"

// Mark marks everything that the plan writes below an installation. The mark of an object that needs no other change stays.
func (p *Plan) Mark(inst *lsv1alpha1.Installation) {
	if p.Run.Flow != lsv1alpha1.FlowContinuous {
		return
	}
	mark := func(object metav1.Object) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[UpdateAnnotation] = p.Run.Version + markSeparator + recordedUpdate(inst)
		object.SetAnnotations(annotations)
	}
	for _, sub := range p.Subs {
		mark(sub.Wanted)
	}
	if p.Execution != nil {
		mark(p.Execution.Wanted)
	}
}

const markSeparator = "/"

// recordedUpdate identifies the update that the status records. Before the first one, it is different for each installation, so that a copy
// with its objects shows no update.
func recordedUpdate(inst *lsv1alpha1.Installation) string {
	return cmp.Or(inst.Status.ConfigGeneration, string(inst.UID))
}

// HasTraces reports whether something below an installation may be the work of an update that the status does not record. Whether it is
// depends on the imports.
func HasTraces(s Snapshot) bool {
	if !mayBeBehind(s.Installation) {
		return false
	}
	others := func(version string) bool { return version != "" && version != s.Installation.Status.ConfigGeneration }
	return len(unrecordedMarks(s)) > 0 || slices.ContainsFunc(contextVersions(s), others)
}

// unrecorded returns the version of an update that has written something below an installation, and that the status does not record; empty
// if there is none. If there are several, it is the required one.
func unrecorded(s Snapshot, required string) string {
	if !mayBeBehind(s.Installation) {
		return ""
	}
	marks := unrecordedMarks(s)
	switch {
	case slices.Contains(marks, required):
		return required
	case required != s.Installation.Status.ConfigGeneration && slices.Contains(contextVersions(s), required):
		return required
	case len(marks) > 0:
		return marks[0]
	default:
		return ""
	}
}

// mayBeBehind reports whether the status of an installation may lack an update. An aborted one does, and no update is in progress.
func mayBeBehind(inst *lsv1alpha1.Installation) bool {
	status := &inst.Status
	return inst.DeletionTimestamp.IsZero() && status.Phase != lsv1alpha1.PhaseAborted && (Entered(status) || status.Phase == "")
}

// unrecordedMarks returns the versions of updates that have written children after the update that the status records.
func unrecordedMarks(s Snapshot) []string {
	var objects []metav1.Object
	for _, sub := range s.Subinstallations {
		objects = append(objects, sub)
	}
	if s.Execution != nil {
		objects = append(objects, s.Execution)
	}
	var versions []string
	for _, object := range objects {
		version, before, marked := strings.Cut(object.GetAnnotations()[UpdateAnnotation], markSeparator)
		if marked && before == recordedUpdate(s.Installation) && version != before {
			versions = append(versions, version)
		}
	}
	return versions
}

// contextVersions returns the versions of the updates that have written what children import.
func contextVersions(s Snapshot) []string {
	var versions []string
	for _, object := range s.Context.DataObjects {
		versions = append(versions, object.Labels[lsv1alpha1.DataObjectJobIDLabel])
	}
	for _, target := range s.Context.Targets {
		versions = append(versions, target.Labels[lsv1alpha1.DataObjectJobIDLabel])
	}
	return versions
}
