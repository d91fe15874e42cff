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

// ImportsRead is the result of reading the imports of an installation.
type ImportsRead struct {
	// Versions are the versions found for each import, sorted by name; Hash is a hash of all contents.
	Versions []lsv1alpha1.ImportStatus
	Hash     string
	// Err is why the imports cannot be used; nil if they can. If it is set, there are no versions.
	Err error
}

// ForeignImports returns an error that names the imported objects that belong to an installation which does not export them to this one,
// or nil if there are none. An object in a scope was imported there by the parent or exported by a sibling, and a global object may be
// exported by any installation; everything else that an installation has written is private, and may vanish at any time. exporters are the
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
		For:    "imports that it may use: " + list(foreign) + ", which is not its parent and does not export it",
	}
}

// elsewhere reports whether an object is in another scope, and not global.
func elsewhere(scope dataflow.Scope, name string, labels map[string]string) bool {
	context := labels[lsv1alpha1.DataObjectContextLabel]
	return context != "" && context != scope.Context() && name != labels[lsv1alpha1.DataObjectKeyLabel]
}

// ImportVersions returns the versions of all imports. An import that an installation exports has the version in marks,
// by name; the version of any other import is a hash of its content.
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

// behindSiblings names the nested installations that do not yet use what a sibling exports now. They catch up without a request, unless
// they are aborted or frozen.
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

// maxMark is the length of a version, short enough for the value of a label.
const maxMark = 40

// configGeneration returns the version of an update. It differs for each spec and each set of imports, and is the same for the same ones,
// so that an update that is repeated after a crash is not a new one.
func configGeneration(inst *lsv1alpha1.Installation, read ImportsRead) string {
	text := fmt.Sprintf("%s/%d/%s", inst.UID, inst.Generation, read.Hash)
	for _, version := range read.Versions {
		text += fmt.Sprintf("/%s=%s", version.Name, version.ConfigGeneration)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:maxMark]
}

// changedImports names the imports of which the last update used another version. The content of exports may change while the version of
// the exporter stays the same; then the result is generic.
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
