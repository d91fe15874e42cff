// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// ImportsRead is what was found when the imports of an installation were read.
type ImportsRead struct {
	// Versions tells which version of each import was found, in the order of names; Hash is a hash of all contents.
	Versions []lsv1alpha1.ImportStatus
	Hash     string
	// Err is why the imports cannot be used, nil if they can. Then there are no versions.
	Err error
}

// ForeignImports says which objects of the imports belong to an installation that does not give them to this one, nil if there are
// none. What is in a scope was imported there by the parent or is exported by a sibling, and a global object is exported by
// anybody; whatever else an installation has written is its own affair, and may vanish at any time. Exporters are the
// installations that export objects of these names.
func ForeignImports(scope dataflow.Scope, facts dataflow.Facts, exporters []*lsv1alpha1.Installation) error {
	given := map[string]bool{}
	for _, e := range exporters {
		own := dataflow.Scope{Namespace: e.Namespace, Parent: e.Labels[lsv1alpha1.EncompassedByLabel]}
		for _, id := range dataflow.ExportedObjects(own, e.Spec.Exports) {
			given[fmt.Sprintf("%s %s of %s", id.Kind, id.Name, e.Name)] = true
		}
	}
	var foreign []string
	check := func(kind dataflow.ObjectKind, name string, labels map[string]string) {
		owner, owned := dataflow.InstallationOf(labels[lsv1alpha1.DataObjectSourceLabel])
		allowed := owner == scope.Parent || given[fmt.Sprintf("%s %s of %s", kind, name, owner)] && !elsewhere(scope, name, labels)
		if owned && !allowed {
			foreign = append(foreign, fmt.Sprintf("%s %s belongs to installation %s", kind, name, owner))
		}
	}
	for _, object := range facts.DataObjects {
		check(dataflow.KindDataObject, object.Name, object.Labels)
	}
	for _, target := range facts.Targets {
		check(dataflow.KindTarget, target.Name, target.Labels)
	}
	if len(foreign) == 0 {
		return nil
	}
	return &failure.Wait{
		Reason: lsv1alpha1.ReasonWaitingForImports,
		For:    "imports that are given to it: " + list(foreign) + ", which neither is its parent nor exports it",
	}
}

// elsewhere reports whether an object is in another scope, and not global.
func elsewhere(scope dataflow.Scope, name string, labels map[string]string) bool {
	context := labels[lsv1alpha1.DataObjectContextLabel]
	return context != "" && context != scope.Context() && name != labels[lsv1alpha1.DataObjectKeyLabel]
}

// ImportVersions tells of all imports which version they have. Imports that installations export have the versions of those,
// marks by name; all others have a hash of their content.
func ImportVersions(resolved dataflow.Resolved, hashes dataflow.Hashes, marks map[string]string) []lsv1alpha1.ImportStatus {
	var versions []lsv1alpha1.ImportStatus
	for _, name := range slices.Sorted(maps.Keys(resolved)) {
		version := lsv1alpha1.ImportStatus{Name: name, ConfigGeneration: hashes.ByImport[name]}
		var exported []string
		for _, exporter := range resolved[name].Exporters {
			if mark := marks[exporter]; mark != "" {
				exported = append(exported, mark)
				version.SourceReference = &lsv1alpha1.ObjectReference{Name: exporter}
			}
		}
		if len(exported) > 0 {
			version.ConfigGeneration = strings.Join(exported, ",")
		}
		versions = append(versions, version)
	}
	return versions
}

// behindSiblings names the nested installations that have yet to use what a sibling exports now. They do so by themselves, unless they are
// aborted or frozen.
func behindSiblings(subs []*lsv1alpha1.Installation) map[string]bool {
	marks := map[string]string{}
	for _, sub := range subs {
		if sub.Status.Phase == lsv1alpha1.PhaseSucceeded {
			marks[sub.Name] = ExportMark(&sub.Status)
		}
	}
	behind := map[string]bool{}
	for _, sub := range subs {
		if sub.Status.Phase == lsv1alpha1.PhaseAborted || sub.Annotations[lsv1alpha1.IgnoreAnnotation] == "true" {
			continue
		}
		behind[sub.Name] = slices.ContainsFunc(sub.Status.Imports, func(used lsv1alpha1.ImportStatus) bool {
			return used.SourceReference != nil && !strings.Contains(used.ConfigGeneration, marks[used.SourceReference.Name])
		})
	}
	return behind
}

// maxMark is how long a version may be to serve as the value of a label.
const maxMark = 40

// configGeneration is the version of an update: another one for each spec and each set of imports, and always the same for
// the same, so that an update which is repeated after a crash is no new one.
func configGeneration(inst *lsv1alpha1.Installation, read ImportsRead) string {
	text := fmt.Sprintf("%s/%d/%s", inst.UID, inst.Generation, read.Hash)
	for _, version := range read.Versions {
		text += fmt.Sprintf("/%s=%s", version.Name, version.ConfigGeneration)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:maxMark]
}

// changedImports names the imports of which the last update has used another version. The content of exports may change
// while the version of the exporter stays; then all that can be said is that something has changed.
func changedImports(status *lsv1alpha1.InstallationStatus, read ImportsRead) []string {
	if read.Err != nil {
		return nil
	}
	used := map[string]string{}
	for _, version := range status.Imports {
		used[version.Name] = version.ConfigGeneration
	}
	var changed []string
	for _, version := range read.Versions {
		if before, known := used[version.Name]; !known || before != version.ConfigGeneration {
			changed = append(changed, version.Name)
		}
	}
	if len(changed) == 0 && (read.Hash != status.ImportsHash || len(read.Versions) != len(status.Imports)) {
		changed = append(changed, "(content)")
	}
	return changed
}
