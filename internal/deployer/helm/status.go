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

// state is the content of the provider status.
type state struct {
	// asRelease is the mode in which the status was written; nil if an earlier controller wrote it.
	asRelease *bool
	// objects are the objects that the deployer applied itself.
	objects inventory.Inventory
	// workloads are objects of the release. They are only shown.
	workloads []deployer.ManagedResource
	release   *helmv1alpha1.ReleaseStatus
	former    []helmv1alpha1.ReleaseReference
}

// readState reads the provider status of an item. An unreadable status is an error, because only the status shows what to delete.
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

// object returns the state in the form in which it is stored.
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

// intendRelease records the release about to be created. A previous release under another name becomes a former one, to be
// removed.
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

// intendTemplate records that the item must no longer have a release.
func (s *state) intendTemplate() {
	no := false
	s.asRelease = &no
	if s.release != nil {
		s.former = append(slices.Clone(s.former), s.release.ReleaseReference)
	}
	s.release, s.workloads = nil, nil
}

// dropFormer records that a release is gone.
func (s *state) dropFormer(gone helmv1alpha1.ReleaseReference) {
	s.former = slices.DeleteFunc(slices.Clone(s.former), func(r helmv1alpha1.ReleaseReference) bool { return r == gone })
}

// toUninstall returns the releases that a deletion must remove. The status of an earlier controller does not name its
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

// deletionGroups returns the groups that a deletion follows. For a release they have no effect: Helm does not support them, and
// a group with deleteAllResources deletes objects of others in the cluster.
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
