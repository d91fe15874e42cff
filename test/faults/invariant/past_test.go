// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// used is a revision of the history: its number, the hash of its spec, the job that used it, and the result.
func used(number int64, hash, job, result string) any {
	return map[string]any{"revision": number, "specHash": hash, "jobID": job, "result": result, "startTime": "2026-03-01T10:00:00Z"}
}

func past(revisions ...any) edit { return set(revisions, "status", "history") }

func TestSpecsAreKept(t *testing.T) {
	check(t, "I26", map[string]example{
		"none yet":        {tell().write("Installation root"), ""},
		"under way":       {tell().write("Installation root", job("1"), phase("Init"), past(used(1, "a", "1", ""))), ""},
		"ended":           {tell().write("Installation root", end("1", "Succeeded"), past(used(1, "a", "1", "Succeeded"))), ""},
		"two":             {tell().write("Installation root", end("2", "Failed"), past(used(2, "b", "2", "Failed"), used(1, "a", "1", "Succeeded"))), ""},
		"waiting":         {tell().write("Installation root", job("2"), phase("Init"), past(used(1, "a", "1", "Succeeded"))), ""},
		"being deleted":   {tell().write("Installation root", end("2", "DeleteFailed"), dying(), past(used(1, "a", "1", "Succeeded"))), ""},
		"nested":          {tell().write("Installation leaf", below("root"), end("1", "Succeeded")), ""},
		"by updates":      {tell().write("Installation root", continuous(1, 1), phase("Succeeded"), past(used(2, "b", "", "Succeeded"), used(1, "a", "", ""))), ""},
		"forgotten":       {tell().write("Installation root", end("1", "Succeeded")), "the newest of 0 revisions is not its own"},
		"of another job":  {tell().write("Installation root", end("2", "Failed"), past(used(1, "a", "1", "Failed"))), "job 2 has ended as Failed"},
		"another result":  {tell().write("Installation root", end("1", "Failed"), past(used(1, "a", "1", "Succeeded"))), "job 1 has ended as Failed"},
		"without number":  {tell().write("Installation root", job("2"), past(used(1, "b", "2", ""), used(1, "a", "1", "Failed"))), "revision 1 is followed by revision 1"},
		"the same twice":  {tell().write("Installation root", job("2"), past(used(2, "a", "2", ""), used(1, "a", "1", "Failed"))), "revisions 2 and 1 have the same spec"},
		"without result":  {tell().write("Installation root", job("2"), past(used(2, "b", "2", ""), used(1, "a", "2", ""))), "revision 1 of job 2 has no result"},
		"with namespaces": {tell().write("Namespace garden", dying()).write("Installation root", end("1", "Succeeded")), ""},
	})
}

func TestSuspendedRootsRest(t *testing.T) {
	suspend, resume := annotate(lsv1alpha1.SuspendAnnotation, "true"), annotate(lsv1alpha1.SuspendAnnotation, "")
	grant := func(id string, uid int) edit {
		return annotate(run.GrantAnnotation, run.FormatGrant(id, fmt.Sprint("uid-", uid)))
	}
	rest := func(edits ...edit) *story {
		return tell().write("Installation root", append([]edit{end("1", "Succeeded"), suspend}, edits...)...).write("Installation root", ask("reconcile"))
	}
	check(t, "I27", map[string]example{
		"resumed":      {rest().write("Installation root", resume).write("Installation root", grant("2", 1)).write("Installation root", job("2")), ""},
		"granted":      {rest(grant("2", 1)).write("Installation root", job("2"), phase("Init")), ""},
		"under way":    {tell().write("Installation root", job("1"), suspend).write("Installation root", end("1", "Succeeded")), ""},
		"deleted":      {rest(dying()).write("Installation root", job("2")), ""},
		"nested":       {rest(below("tree")).write("Installation root", job("2")), ""},
		"aborted":      {rest(continuous(1, 1)).write("Installation root", ask("abort")).write("Installation root", phase("Aborted")), ""},
		"a new grant":  {rest().write("Installation root", grant("2", 1)), "revision 3: it is suspended, and job 2 is granted"},
		"a job":        {rest().write("Installation root", job("2")), "revision 3: it is suspended, and job 2 begins"},
		"another job":  {rest(grant("2", 1)).write("Installation root", job("3")), "job 3 begins"},
		"an update":    {rest(continuous(1, 1)).write("Installation root", phase("PendingDependencies")), "goes from phase Succeeded to PendingDependencies"},
		"a new spec":   {rest(continuous(2, 1)).write("Installation root", phase("Progressing")), ""},
		"two of them":  {rest(continuous(2, 1)).write("Installation root", continuous(3, 1), phase("Progressing")), "goes from phase Succeeded to Progressing"},
		"in an update": {rest(continuous(1, 1), phase("Progressing")).write("Installation root", phase("Failed")), ""},
	})
}
