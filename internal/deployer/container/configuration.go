// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"espalier.dev/api/deployer"
	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/failure"
)

// configuration is an item's configuration.
type configuration struct {
	containerv1alpha1.ProviderConfiguration
	// imports is importValues as written; nil if there are none.
	imports []byte
}

// readConfiguration reads and checks the configuration of an item.
func (d *Deployer) readConfiguration(item *lsv1alpha1.DeployItem) (*configuration, error) {
	config := &configuration{}
	version := containerv1alpha1.SchemeGroupVersion.String()
	problems := providerconfig.ReadVersion(item.Spec.Configuration, version, &config.ProviderConfiguration)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	var exact struct {
		ImportValues json.RawMessage `json:"importValues"`
	}
	if err := json.Unmarshal(item.Spec.Configuration.Raw, &exact); err == nil && config.ImportValues != nil {
		config.imports = exact.ImportValues
	}
	config.Image = cmp.Or(config.Image, d.options.DefaultImage)
	config.validate(item.Namespace, &problems)
	return config, problems.Err()
}

func (c *configuration) validate(namespace string, problems *providerconfig.Problems) {
	if _, err := component.ParseImageReference(c.Image); err != nil {
		problems.Add("image", "%v", err)
	}
	for i, secret := range c.RegistryPullSecrets {
		path := fmt.Sprintf("registryPullSecrets[%d]", i)
		switch {
		case secret.Name == "":
			problems.Add(path+".name", "is missing: set a Secret in namespace %s", namespace)
		case secret.Namespace != "" && secret.Namespace != namespace:
			problems.Add(path+".namespace", "differs from that of the deploy item: copy the Secret to namespace %s", namespace)
		}
	}
	c.validateContent(problems)
	providerconfig.ValidateContinuous(c.ContinuousReconcile, problems)
}

func (c *configuration) validateContent(problems *providerconfig.Problems) {
	if b := c.Blueprint; b != nil {
		switch set := count(b.Reference != nil, b.Inline != nil, b.OCI != nil, b.Git != nil); {
		case set != 1:
			problems.Add("blueprint", "set exactly one of ref, inline and oci")
		case b.Git != nil:
			problems.Add("blueprint.git", "is not supported here: use ref, inline or oci")
		case b.Reference != nil && !c.namesComponent():
			problems.Add("blueprint.ref", "needs componentDescriptor to find the component of the blueprint")
		}
	}
	if d := c.ComponentDescriptor; d != nil && d.Reference != nil && d.Inline != nil && !d.Inline.IsNull() {
		problems.Add("componentDescriptor", "set either ref or inline")
	}
}

func (c *configuration) namesComponent() bool {
	d := c.ComponentDescriptor
	return d != nil && (d.Reference != nil || d.Inline != nil && !d.Inline.IsNull())
}

func count(set ...bool) int {
	n := 0
	for _, each := range set {
		if each {
			n++
		}
	}
	return n
}

// continuousReconcile returns the item's continuousReconcile; nil if the image runs only in jobs.
func continuousReconcile(item *lsv1alpha1.DeployItem) *deployer.ContinuousReconcile {
	var part struct {
		ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile"`
	}
	if problems := providerconfig.ReadPart(item, &part); len(problems) > 0 {
		return nil
	}
	return part.ContinuousReconcile
}

const kindStatus = "ProviderStatus"

// readStatus reads the provider status of an item. It also reads that of an earlier controller, which has no run.
func readStatus(item *lsv1alpha1.DeployItem) (*containerv1alpha1.ProviderStatus, error) {
	status := &containerv1alpha1.ProviderStatus{}
	raw := item.Status.ProviderStatus
	if raw != nil && len(raw.Raw) > 0 {
		err := json.Unmarshal(raw.Raw, status)
		if err != nil || status.Kind != kindStatus || status.APIVersion != containerv1alpha1.SchemeGroupVersion.String() {
			return nil, failure.NewTerminal(
				failure.Details{Operation: "ReadStatus", Reason: "UnreadableStatus", Codes: []string{string(lsv1alpha1.ErrorInternalProblem)}},
				errors.New("status.providerStatus is not one of this deployer: restore it, or remove it if the image has never run"),
			)
		}
	}
	status.SetGroupVersionKind(containerv1alpha1.SchemeGroupVersion.WithKind(kindStatus))
	if status.PodStatus == nil {
		status.PodStatus = &containerv1alpha1.PodStatus{}
	}
	return status, nil
}
