// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

// ExecutionExport returns the DataObject in which an execution collects the exports of its deploy items: an object with an entry per
// deploy item.
func ExecutionExport(owner Owner, exports map[string]any) (*lsv1alpha1.DataObject, error) {
	own := ContextOfExecution(owner.Name)
	owner.JobID = ""
	return mark{owner: owner, kind: kindExecution, context: own, source: own}.dataObject(exports)
}

// ExecutionExportName returns the name of that DataObject.
func ExecutionExportName(execution string) string {
	return ObjectName(ContextOfExecution(execution), "")
}
