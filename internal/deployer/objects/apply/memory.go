// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/readiness"
)

// Applied is the state of an object applied in this run. It is small: bodies are not kept.
type Applied struct {
	Subject cluster.Subject
	UID     types.UID
	// Ready reports whether the object was ready when it was last read; Missing is what it lacked.
	Ready   bool
	Missing string
	// Verdict is the result of applying it.
	Verdict Verdict
	// served reports whether the cluster has nodes for pods, or does not show its nodes.
	served bool
}

// Memory is the state that one pass of a run leaves for the next.
type Memory map[inventory.Key]Applied

// check reads the object and records whether it is ready. The client may differ from the previous one, because credentials
// rotate.
func (a *Applied) check(ctx context.Context, target cluster.Cluster) error {
	a.Subject.Cluster = target
	live, err := a.Subject.Read(ctx)
	if err != nil {
		return cluster.Refused("read", a.Subject, err)
	}
	state := readiness.Of(live)
	if state.Failed != "" {
		return state.Failure(a.Subject)
	}
	a.Ready, a.Missing = state.Ready, state.Missing
	return nil
}

// AwaitReady reads everything that was not ready yet. It returns nil if everything is. An object that has disappeared is
// dropped, so that the next pass applies it again.
func (m Memory) AwaitReady(ctx context.Context, target cluster.Cluster) (*cluster.Wait, error) {
	keys := m.unready()
	checked := make([]Applied, len(keys))
	errs := make([]error, len(keys))
	cluster.Each(len(keys), func(i int) {
		checked[i] = m[keys[i]]
		errs[i] = checked[i].check(ctx, target)
	})
	var pending []cluster.Pending
	for i, key := range keys {
		m[key] = checked[i]
		if apierrors.IsNotFound(errs[i]) {
			delete(m, key)
		} else if !checked[i].Ready {
			pending = append(pending, cluster.Pending{Subject: checked[i].Subject, Missing: checked[i].Missing})
		}
	}
	wait := cluster.Await(cluster.WaitingForReadiness, pending)
	if wait != nil && m.lackNodes(ctx, pending) {
		wait.Reason.Message += ". " + readiness.NoNodes
	}
	return wait, cluster.Join(errs)
}

// lackNodes reports whether one of the objects waits for pods, and none can run. The nodes are listed until the cluster is known to
// have some.
func (m Memory) lackNodes(ctx context.Context, pending []cluster.Pending) bool {
	waits := slices.IndexFunc(pending, func(p cluster.Pending) bool { return readiness.NeedsNodes(p.Subject.GVK.GroupKind()) })
	for _, applied := range m {
		if applied.served {
			return false
		}
	}
	if waits < 0 {
		return false
	}
	lacks, settled := readiness.LacksNodes(ctx, pending[waits].Subject.Cluster)
	for key, applied := range m { // All are in one cluster.
		applied.served = settled
		m[key] = applied
	}
	return lacks
}

func (m Memory) unready() []inventory.Key {
	var keys []inventory.Key
	for key, applied := range m {
		if !applied.Ready {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, inventory.Key.Compare)
	return keys
}

// Forget makes the next pass apply an object again.
func (m Memory) Forget(key inventory.Key) { delete(m, key) }

// UIDs returns the UIDs of the applied objects.
func (m Memory) UIDs() map[types.UID]bool {
	result := map[types.UID]bool{}
	for _, applied := range m {
		if applied.UID != "" {
			result[applied.UID] = true
		}
	}
	return result
}

// maxNamed is the maximum number of changed objects named in a message.
const maxNamed = 5

// Changes describes which objects were created or changed; empty if none were.
func (m Memory) Changes() string {
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(m), inventory.Key.Compare) {
		switch applied := m[key]; applied.Verdict {
		case Created:
			parts = append(parts, "created "+applied.Subject.String())
		case Changed:
			parts = append(parts, "corrected "+applied.Subject.String())
		}
	}
	if more := len(parts) - maxNamed; more > 0 {
		parts = append(parts[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
