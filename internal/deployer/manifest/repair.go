// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"

	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/apply"
)

// repair applies the objects in the state in which a finished job leaves them, and reports what differed.
func (p *pass) repair(ctx context.Context) (deployer.Progress, error) {
	var objects []apply.Object
	for _, o := range p.config.objects {
		patched, err := o.Patched()
		if err != nil {
			return deployer.Progress{}, fmt.Errorf("%s: patchAfterDeployment cannot be applied to the manifest", o.Path)
		}
		objects = append(objects, patched)
	}
	applier, memory := p.applier(), apply.Memory{}
	applier.SameManifests = true
	run := apply.Run{Applier: applier, Objects: objects, Inventory: p.known, Memory: memory}
	wait, err := run.Pass(ctx)
	progress := deployer.Progress{Done: wait == nil && err == nil}
	if wait != nil {
		progress.Waiting = wait.Reason
	}
	if progress.Repaired = memory.Changes(); progress.Repaired != "" {
		progress.ProviderStatus = statusOf(p.known)
	}
	return progress, err
}
