// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/failure"
)

const kindStatus = "ProviderStatus"

// readInventory reads the inventory in the item's status, in either version. An unreadable inventory is an error: without
// it, the objects to delete are unknown.
func readInventory(item *lsv1alpha1.DeployItem) (*inventory.Inventory, error) {
	result := inventory.New(nil)
	raw := item.Status.ProviderStatus
	if raw == nil || len(raw.Raw) == 0 {
		return &result, nil
	}
	var header struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw.Raw, &header); err != nil || header.Kind != kindStatus {
		return nil, unreadable(header.APIVersion, header.Kind)
	}
	switch header.APIVersion {
	case v1alpha1.SchemeGroupVersion.String():
		return readOldInventory(raw)
	case v1alpha2.SchemeGroupVersion.String():
		var status v1alpha2.ProviderStatus
		if err := json.Unmarshal(raw.Raw, &status); err != nil {
			return nil, unreadable(header.APIVersion, header.Kind)
		}
		result = inventory.New(status.ManagedResources)
		return &result, nil
	}
	return nil, unreadable(header.APIVersion, header.Kind)
}

func readOldInventory(raw *runtime.RawExtension) (*inventory.Inventory, error) {
	var status v1alpha1.ProviderStatus
	if err := json.Unmarshal(raw.Raw, &status); err != nil {
		return nil, unreadable(v1alpha1.SchemeGroupVersion.String(), kindStatus)
	}
	result := inventory.New(nil)
	for _, reference := range status.ManagedResources {
		result.Put(inventory.Entry{
			Policy:     deployer.PolicyManage,
			FieldsHash: inventory.Inherited,
			Resource: deployer.ResourceReference{
				APIVersion: reference.APIVersion, Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name,
			},
		})
	}
	return &result, nil
}

func unreadable(apiVersion, kind string) error {
	return failure.NewTerminal(
		failure.Details{Operation: "ReadStatus", Reason: "UnreadableStatus", Codes: []string{string(lsv1alpha1.ErrorInternalProblem)}},
		fmt.Errorf(
			"status.providerStatus is not a %s of this deployer, but %q of %q: restore it, or remove it if nothing is deployed",
			kindStatus,
			kind,
			apiVersion,
		),
	)
}

// statusOf returns an inventory in the form in which it is stored, always the newer version.
func statusOf(known *inventory.Inventory) *v1alpha2.ProviderStatus {
	status := &v1alpha2.ProviderStatus{ManagedResources: known.Entries()}
	status.SetGroupVersionKind(v1alpha2.SchemeGroupVersion.WithKind(kindStatus))
	return status
}
