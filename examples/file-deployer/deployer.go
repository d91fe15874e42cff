// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
)

const (
	fileType   = lsv1alpha1.DeployItemType("example.espalier.dev/files")
	apiVersion = "example.espalier.dev/v1"
)

// config is the spec.config of a deploy item: the files and their content.
type config struct {
	Files map[string]string `json:"files"`
}

// memory is the status.providerStatus of a deploy item: the files that may have been written for it.
type memory struct {
	metav1.TypeMeta `json:",inline"`
	Files           []string `json:"files,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (m *memory) DeepCopyObject() runtime.Object {
	return &memory{TypeMeta: m.TypeMeta, Files: slices.Clone(m.Files)}
}

// fileDeployer writes files below one folder and never outside it.
type fileDeployer struct{ root *os.Root }

// Type returns the type of the deploy items.
func (d *fileDeployer) Type() lsv1alpha1.DeployItemType { return fileType }

// Intend records the previous and the future files, before any of them is written.
func (d *fileDeployer) Intend(_ context.Context, work deployer.Work) (runtime.Object, error) {
	wanted, remembered, err := read(work.Item)
	if err != nil {
		return nil, err
	}
	for name := range wanted.Files {
		remembered = append(remembered, name)
	}
	return remember(remembered), nil
}

// Deploy writes the files and removes files that the configuration no longer lists.
func (d *fileDeployer) Deploy(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	wanted, remembered, err := read(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	var kept []string
	for name, content := range wanted.Files {
		if err := d.root.WriteFile(name, []byte(content), 0o600); err != nil {
			return deployer.Progress{}, fmt.Errorf("write file %q: %w", name, err)
		}
		kept = append(kept, name)
	}
	stale := slices.DeleteFunc(remembered, func(name string) bool { return slices.Contains(kept, name) })
	if err := d.remove(stale); err != nil {
		return deployer.Progress{}, err
	}
	return deployer.Progress{Done: true, ProviderStatus: remember(kept), Exports: map[string]any{"folder": d.root.Name()}}, nil
}

// Delete removes the recorded files. It does not read the configuration: a deploy item with a wrong configuration can also be deleted.
func (d *fileDeployer) Delete(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	remembered, err := recall(work.Item)
	if err != nil {
		return deployer.Progress{}, err
	}
	return deployer.Progress{Done: true}, d.remove(remembered)
}

func (d *fileDeployer) remove(names []string) error {
	for _, name := range names {
		if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove file %q: %w", name, err)
		}
	}
	return nil
}

// read returns the wanted and the recorded files of a deploy item.
func read(item *lsv1alpha1.DeployItem) (wanted config, remembered []string, err error) {
	if item.Spec.Configuration != nil {
		if err := json.Unmarshal(item.Spec.Configuration.Raw, &wanted); err != nil {
			return wanted, nil, deployer.Terminal("InvalidConfiguration", fmt.Errorf("spec.config: %w", err))
		}
	}
	remembered, err = recall(item)
	return wanted, remembered, err
}

// recall returns the recorded files of a deploy item.
func recall(item *lsv1alpha1.DeployItem) ([]string, error) {
	var m memory
	if item.Status.ProviderStatus == nil {
		return nil, nil
	}
	err := json.Unmarshal(item.Status.ProviderStatus.Raw, &m)
	return m.Files, err
}

func remember(files []string) *memory {
	slices.Sort(files)
	return &memory{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: "Memory"}, Files: slices.Compact(files)}
}
