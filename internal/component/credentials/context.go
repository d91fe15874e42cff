// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Keys of documents in Secrets and ConfigMaps.
const (
	KeyDockerConfig     = ".dockerconfigjson"
	KeyCredentialConfig = ".ocmcredentialconfig"
	KeyConfig           = ".ocmconfig"
)

// Kinds of the objects that a Context names.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// Contents returns the data of an object in the namespace of the Context, nil if it does not exist.
type Contents func(kind, name string) (map[string][]byte, error)

// Named returns the Secrets and ConfigMaps in the namespace of a Context that it names for registries and signatures.
func Named(c *lsv1alpha1.Context) (secrets, configMaps []string) {
	if c.OCMConfig != nil {
		configMaps = append(configMaps, c.OCMConfig.Name)
	}
	for _, reference := range c.RegistryPullSecrets {
		secrets = append(secrets, reference.Name)
	}
	for _, trusted := range c.VerificationSignatures {
		for _, at := range []*lsv1alpha1.SecretReference{trusted.PublicKeySecretReference, trusted.CACertificateSecretReference} {
			if at != nil {
				secrets = append(secrets, at.Name)
			}
		}
	}
	return secrets, configMaps
}

// OfContext reads the credentials of a Context, and where it looks up components. Errors name the field of the Context, and the key, but
// none of the content.
func OfContext(c *lsv1alpha1.Context, contents Contents) (Config, error) {
	config, err := configOf(c, contents)
	if err != nil {
		return Config{}, err
	}
	for i, reference := range c.RegistryPullSecrets {
		more, err := pullSecret(c, reference.Name, contents)
		if err != nil {
			return Config{}, fmt.Errorf("registryPullSecrets[%d]: %w", i, err)
		}
		config.Credentials = config.Credentials.And(more.Credentials)
		config.Ignored = append(config.Ignored, more.Ignored...)
	}
	return config, nil
}

// configOf reads the OCM configuration that a Context names.
func configOf(c *lsv1alpha1.Context, contents Contents) (Config, error) {
	if c.OCMConfig == nil {
		return Config{}, nil
	}
	name := c.OCMConfig.Name
	data, err := existing(c, KindConfigMap, name, contents)
	if err != nil {
		return Config{}, fmt.Errorf("ocmConfig: %w", err)
	}
	document, found := data[KeyConfig]
	if !found {
		return Config{}, fmt.Errorf("ocmConfig: ConfigMap %s has no key %s: put the configuration there", name, KeyConfig)
	}
	config, err := ParseConfig(document)
	if err != nil {
		return Config{}, fmt.Errorf("ocmConfig: ConfigMap %s, key %s: %w", name, KeyConfig, err)
	}
	return config, nil
}

// pullSecret reads a Secret by its keys; its type does not matter. A Secret without any of them has no effect.
func pullSecret(c *lsv1alpha1.Context, name string, contents Contents) (Config, error) {
	data, err := existing(c, KindSecret, name, contents)
	if err != nil {
		return Config{}, err
	}
	var config Config
	if document, found := data[KeyDockerConfig]; found {
		if config.Credentials, err = ParseDockerConfig(document); err != nil {
			return Config{}, fmt.Errorf("the Secret %s, key %s: %w", name, KeyDockerConfig, err)
		}
	}
	if document, found := data[KeyCredentialConfig]; found {
		more, err := ParseCredentialConfig(document)
		if err != nil {
			return Config{}, fmt.Errorf("the Secret %s, key %s: %w", name, KeyCredentialConfig, err)
		}
		config.Credentials = config.Credentials.And(more.Credentials)
		config.Ignored = more.Ignored
	}
	if config.Credentials.Len() == 0 {
		config.Ignored = append(config.Ignored, fmt.Sprintf("Secret %s holds no credentials under %s or %s",
			name, KeyDockerConfig, KeyCredentialConfig))
	}
	return config, nil
}

func existing(c *lsv1alpha1.Context, kind, name string, contents Contents) (map[string][]byte, error) {
	if name == "" {
		return nil, fmt.Errorf("the name of the %s is empty: set it, or remove the entry", kind)
	}
	data, err := contents(kind, name)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("there is no %s %s/%s: create it, or remove it from the Context", kind, c.Namespace, name)
	}
	return data, nil
}
