// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child

import "sync"

// PropagatedJobs remembers which jobs were propagated to which children until the cache shows them. Without it, a pass that comes
// too early propagates a job again, which the API server refuses. Of a child that goes away before, the entry stays until there are
// too many. The zero value is ready.
type PropagatedJobs struct {
	mu   sync.Mutex
	jobs map[string]string
}

// Note records that the sub-object with this UID has got the job.
func (h *PropagatedJobs) Note(uid, job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs = keep(h.jobs, uid, job)
}

// Has reports whether the sub-object has got the job, though the cache shows another one. What the cache shows is
// forgotten.
func (h *PropagatedJobs) Has(uid, job, shown string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	noted, known := h.jobs[uid]
	if known && (noted == shown || noted != job) {
		delete(h.jobs, uid)
	}
	return known && noted == job && shown != job
}
