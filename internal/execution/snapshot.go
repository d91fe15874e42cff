// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Snapshot is an execution and everything that belongs to it, as it was read.
type Snapshot struct {
	Execution *lsv1alpha1.Execution
	// Items are the deploy items that have the label or the owner reference of the execution, or whose names its status records. They are not
	// modified.
	Items []lsv1alpha1.DeployItem
	// Complete means that Items come from the API server itself: what is missing does not exist. In a cache, it may merely not be visible yet.
	Complete bool
	// Remembered means that Items include everything that this controller, or an earlier leader, has written. Changes by others may not be
	// visible yet.
	Remembered bool
	// Gone are recorded names that do not exist according to the API server.
	Gone []string
	// Exports are the contents of the Secrets with the exports of deploy items, by the name of the deploy item. A Secret that does not exist
	// has no entry. They need not be read before NeedsExports requests them.
	Exports     map[string][]byte
	ExportsRead bool
	// Export is the DataObject with the exports of the last job, nil if there is none.
	Export *lsv1alpha1.DataObject
	// ExportGone means that the object with the exports named in the status does not exist. It matters in the continuous flow.
	ExportGone bool
	// NamespaceEnds means that the namespace is being deleted.
	NamespaceEnds bool
	Now           time.Time
}

// Recorded returns the names of the deploy items that the status of an execution records.
func Recorded(e *lsv1alpha1.Execution) []string {
	cache := e.Status.DeployItemCache
	if cache == nil {
		return nil
	}
	names := make([]string, 0, len(cache.ActiveDIs)+len(cache.OrphanedDIs))
	for _, pair := range cache.ActiveDIs {
		names = append(names, pair.ObjectName)
	}
	return append(names, cache.OrphanedDIs...)
}
