// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	mockv1alpha1 "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// Name is the name of the controller.
const Name = "deployer-mock"

// New returns the mock deployer.
func New() deployer.Deployer { return mock{} }

type mock struct{}

// Type is the type of the items.
func (mock) Type() lsv1alpha1.DeployItemType { return lsv1alpha1.DeployItemTypeMock }

// Intend stores the provider status of the configuration from the start.
func (mock) Intend(_ context.Context, work deployer.Work) (runtime.Object, error) {
	config, err := configOf(work.Item)
	if err != nil {
		return nil, err
	}
	return statusOf(config)
}

// Deploy reports what the configuration says.
func (mock) Deploy(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	config, err := configOf(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	phase := phaseOf(config, work)
	switch phase {
	case lsv1alpha1.PhaseSucceeded:
		exports, err := exportsOf(config)
		return deployer.Progress{Done: err == nil, Exports: exports}, err
	case lsv1alpha1.PhaseFailed:
		return deployer.Progress{}, failure.Terminalf(failure.Details{Operation: "Deploy", Reason: "MockFailure"},
			"spec.config requests phase %s", phase)
	}
	progress := deployer.Progress{Recheck: time.Hour, Waiting: decision.Reason{
		Code: lsv1alpha1.ReasonWaitingForReadiness, Message: fmt.Sprintf("spec.config requests phase %s", phase),
	}}
	if config.InitialPhase != nil && !stopped(work.Item) {
		progress.Recheck = time.Second
		work.Wake()
	}
	return progress, nil
}

// phaseOf returns the initial phase until the item was stored in it, and then the final phase.
func phaseOf(config *mockv1alpha1.ProviderConfiguration, work deployer.Work) lsv1alpha1.Phase {
	if config.InitialPhase != nil && !stopped(work.Item) {
		return *config.InitialPhase
	}
	if config.Phase == nil {
		return lsv1alpha1.PhaseSucceeded
	}
	return cmp.Or(*config.Phase, lsv1alpha1.PhaseSucceeded)
}

// stopped reports whether a waiting state of the item has been stored in this job.
func stopped(item *lsv1alpha1.DeployItem) bool {
	return item.Status.TransitionTimes != nil && item.Status.TransitionTimes.WaitTime != nil
}

// Delete always succeeds: nothing is deployed.
func (mock) Delete(context.Context, deployer.Work) (deployer.Progress, error) {
	return deployer.Progress{Done: true}, nil
}

func configOf(item *lsv1alpha1.DeployItem) (*mockv1alpha1.ProviderConfiguration, error) {
	config := &mockv1alpha1.ProviderConfiguration{}
	if item.Spec.Configuration == nil {
		return config, nil
	}
	if err := json.Unmarshal(item.Spec.Configuration.Raw, config); err != nil {
		return nil, invalid(fmt.Errorf("spec.config is not a configuration of the mock deployer: %w", err))
	}
	if config.APIVersion != mockv1alpha1.SchemeGroupVersion.String() || config.Kind != "ProviderConfiguration" {
		return nil, invalid(fmt.Errorf("spec.config: want apiVersion %s and kind ProviderConfiguration, not %q and %q",
			mockv1alpha1.SchemeGroupVersion, config.APIVersion, config.Kind))
	}
	return config, nil
}

func statusOf(config *mockv1alpha1.ProviderConfiguration) (runtime.Object, error) {
	if config.ProviderStatus == nil || len(config.ProviderStatus.Raw) == 0 {
		return nil, nil
	}
	status := &unstructured.Unstructured{}
	if err := json.Unmarshal(config.ProviderStatus.Raw, &status.Object); err != nil {
		return nil, invalid(fmt.Errorf("spec.config.providerStatus: %w", err))
	}
	if status.GetAPIVersion() == "" || status.GetKind() == "" {
		return nil, invalid(errors.New("spec.config.providerStatus needs an apiVersion and a kind"))
	}
	return status, nil
}

func exportsOf(config *mockv1alpha1.ProviderConfiguration) (map[string]any, error) {
	if config.Export == nil || config.Export.IsNull() {
		return nil, nil
	}
	var exports map[string]any
	if err := config.Export.Decode(&exports); err != nil {
		return nil, invalid(fmt.Errorf("spec.config.export must be an object whose keys are the names of the exports: %w", err))
	}
	return exports, nil
}

func invalid(cause error) error {
	return failure.NewTerminal(failure.Details{
		Operation: "ReadConfiguration", Reason: "InvalidConfiguration", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, cause)
}
