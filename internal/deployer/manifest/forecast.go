// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"

	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/prune"
)

var _ forecast.Forecaster = Forecast

// Forecast is a forecast.Forecaster for items of the manifest type.
func Forecast(ctx context.Context, work deployer.Work, _ forecast.Surroundings) (*forecast.Forecast, error) {
	if work.Item.DeletionTimestamp != nil {
		return forecastDeletion(ctx, work)
	}
	p, err := New().begin(work)
	if err != nil {
		return nil, err
	}
	if p.objects, err = apply.Place(p.config.objects, p.cluster.Mapper(), ""); err != nil {
		return nil, err
	}
	result := &forecast.Forecast{Changes: forecast.Apply(ctx, p.applier(), p.objects, *p.known)}
	pruned, err := forecast.Prune(ctx, p.pruning(forecast.Stay(p.objects), forecast.UIDs(result.Changes)))
	result.Changes = append(result.Changes, pruned...)
	return result, err
}

func forecastDeletion(ctx context.Context, work deployer.Work) (*forecast.Forecast, error) {
	known, err := readInventory(work.Item)
	if err != nil || work.Item.Status.ProviderStatus == nil {
		return &forecast.Forecast{}, err
	}
	groups, err := deletionGroups(work.Item)
	if err != nil {
		return nil, err
	}
	if work.Cluster == nil {
		return nil, cluster.None()
	}
	pruned, err := forecast.Prune(ctx, prune.Run{
		Cluster: work.Cluster, Find: cluster.FinderOf(work), Owner: inventory.OwnerOf(work.Item), Groups: groups, Inventory: known,
	})
	return &forecast.Forecast{Changes: pruned}, err
}
