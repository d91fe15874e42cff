// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package seeded

import "espalier.dev/internal/testkit/faults"

const suspension = "internal/installation/suspend.go"

// pauseBugs are mistakes about suspended roots, the history of specs, and forced deletions.
var pauseBugs = []faults.Bug{
	{
		Name:  "suspended: a requested job starts",
		Edits: []faults.Edit{{File: suspension, Old: "return o.Root && !o.Job.Running()", New: "return false && !o.Job.Running()"}},
		Runs:  []string{"suspend "},
	},
	{
		Name:  "suspended: an update starts",
		Edits: []faults.Edit{{File: suspension, Old: "return o.rests() && !o.Updated", New: "return false && o.rests() && !o.Updated"}},
		Runs:  []string{"suspend "},
	},
	{
		Name: "suspended: an update that the status does not record yet is forgotten",
		Edits: []faults.Edit{{
			File: "internal/installation/unrecorded.go", Old: "if marked && before ==", New: "if false && marked && before ==",
		}},
		Runs: []string{"suspend update/executions=snail:1:after"},
	},
	{
		Name: "history: a job that only waits takes the result of the one before",
		Edits: []faults.Edit{{
			File: "internal/installation/settle.go", Old: "noteStart(inst, *o)", New: "noteSpec(inst, *o)",
		}},
		Runs: []string{"revise "},
	},
	{
		Name: "force: a deletion waits for those who import",
		Edits: []faults.Edit{{
			File: "internal/installation/rules_job_delete.go",
			Old:  "if !o.IgnoreSuccessors && len(o.Successors) > 0 {",
			New:  "if len(o.Successors) > 0 {",
		}},
		Runs: []string{"force "},
	},
	{
		Name: "force: a deletion of the continuous flow waits for what is busy",
		Edits: []faults.Edit{{
			File: continuousDelete,
			Old:  "case len(busy) > 0 && !o.forced() && !o.WithoutUninstall:",
			New:  "case len(busy) > 0 && !o.forced():",
		}},
		Runs: []string{"force "},
	},
}
