// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"fmt"
	"slices"

	"espalier.dev/api/deployer"
	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/failure"
)

const kindStatus = "ProviderStatus"

// state is what the provider status remembers.
type state struct {
	// asRelease is the mode in which it was written; nil if an earlier controller has written it.
	asRelease *bool
	// objects are those that the deployer has applied itself.
	objects inventory.Inventory
	// workloads are objects of the release. They are shown and mean nothing.
	workloads []deployer.ManagedResource
	release   *helmv1alpha1.ReleaseStatus
	former    []helmv1alpha1.ReleaseReference
}

// readState reads the provider status of an item. One that cannot be read is an error, for without it nobody knows what to
// delete.
func readState(item *lsv1alpha1.DeployItem) (*state, error) {
	raw := item.Status.ProviderStatus
	if raw == nil || len(raw.Raw) == 0 {
		return &state{objects: inventory.New(nil)}, nil
	}
	var status helmv1alpha1.ProviderStatus
	err := json.Unmarshal(raw.Raw, &status)
	if err != nil || status.Kind != kindStatus || status.APIVersion != helmv1alpha1.SchemeGroupVersion.String() {
		return nil, failure.NewTerminal(
			failure.Details{Operation: "ReadStatus", Reason: "UnreadableStatus", Codes: []string{string(lsv1alpha1.ErrorInternalProblem)}},
			fmt.Errorf("status.providerStatus is not a %s of this deployer, but %q of %q: restore it, or remove it if nothing is deployed", kindStatus, status.Kind, status.APIVersion),
		)
	}
	applied := slices.DeleteFunc(slices.Clone(status.ManagedResources), func(r deployer.ManagedResource) bool { return r.Policy == "" })
	return &state{
		asRelease: status.HelmDeployment,
		objects:   inventory.New(applied),
		release:   status.Release,
		former:    status.FormerReleases,
	}, nil
}

// object is how the state is stored.
func (s *state) object() *helmv1alpha1.ProviderStatus {
	status := &helmv1alpha1.ProviderStatus{
		HelmDeployment:   s.asRelease,
		ManagedResources: append(s.objects.Entries(), s.workloads...),
		Release:          s.release,
		FormerReleases:   s.former,
	}
	status.SetGroupVersionKind(helmv1alpha1.SchemeGroupVersion.WithKind(kindStatus))
	return status
}

// intendRelease takes note of the release that is about to be made. Another one that was there before is to be removed.
func (s *state) intendRelease(wanted helmv1alpha1.ReleaseReference) {
	yes := true
	s.asRelease = &yes
	s.former = slices.DeleteFunc(slices.Clone(s.former), func(r helmv1alpha1.ReleaseReference) bool { return r == wanted })
	if s.release != nil && s.release.ReleaseReference != wanted {
		s.former = append(s.former, s.release.ReleaseReference)
		s.release = nil
	}
	if s.release == nil {
		s.release = &helmv1alpha1.ReleaseStatus{ReleaseReference: wanted}
	}
}

// intendTemplate takes note that there is to be no release any more.
func (s *state) intendTemplate() {
	no := false
	s.asRelease = &no
	if s.release != nil {
		s.former = append(slices.Clone(s.former), s.release.ReleaseReference)
	}
	s.release, s.workloads = nil, nil
}

// dropFormer takes note that a release is gone.
func (s *state) dropFormer(gone helmv1alpha1.ReleaseReference) {
	s.former = slices.DeleteFunc(slices.Clone(s.former), func(r helmv1alpha1.ReleaseReference) bool { return r == gone })
}

// toUninstall are the releases that a deletion has to remove. The status of an earlier controller does not name its
// release: then the configuration does, unless the status lists objects that were applied without one.
func (s *state) toUninstall(last farewell) []helmv1alpha1.ReleaseReference {
	result := slices.Clone(s.former)
	if s.release != nil {
		return append(result, s.release.ReleaseReference)
	}
	if s.asRelease == nil && last.asRelease && s.objects.Len() == 0 && last.reference.Name != "" && last.reference.Namespace != "" {
		return append(result, last.reference)
	}
	return result
}

// deletionGroups are those that a deletion follows. Helm knows nothing of them: for a release they have no effect, for a
// group with deleteAllResources would delete what others have in the cluster.
func (s *state) deletionGroups(last farewell) []deployer.DeletionGroup {
	asRelease := last.asRelease
	if s.asRelease != nil {
		asRelease = *s.asRelease
	}
	if asRelease {
		return nil
	}
	return last.groups
}
