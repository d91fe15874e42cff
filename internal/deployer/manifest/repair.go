// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/deployer"
	"espalier.dev/internal/deployer/apply"
	"espalier.dev/internal/deployer/inventory"
)

// maxNamed is how many repaired objects an event names.
const maxNamed = 5

// repair applies the objects as a finished job leaves them, and tells what differed.
func (p *pass) repair(ctx context.Context) (deployer.Progress, error) {
	var objects []apply.Object
	for _, o := range p.config.objects {
		patched, err := o.Patched()
		if err != nil {
			return deployer.Progress{}, fmt.Errorf("%s: apply patchAfterDeployment to the manifest: it does not fit", o.Path)
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
	if progress.Repaired = describeRepairs(memory); progress.Repaired != "" {
		progress.ProviderStatus = statusOf(p.known)
	}
	return progress, err
}

func describeRepairs(memory apply.Memory) string {
	var parts []string
	for _, key := range sortedKeys(memory) {
		switch applied := memory[key]; applied.Verdict {
		case apply.Created:
			parts = append(parts, "created "+applied.Subject.String())
		case apply.Changed:
			parts = append(parts, "changed back "+applied.Subject.String())
		}
	}
	if more := len(parts) - maxNamed; more > 0 {
		parts = append(parts[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys(memory apply.Memory) []inventory.Key {
	var keys []inventory.Key
	for key := range memory {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, inventory.Key.Compare)
	return keys
}
