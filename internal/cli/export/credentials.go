// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/target"
)

// withoutCredential lets a Target that has a credential of its own refer to a Secret instead, unless credentials are wanted.
func (l *luggage) withoutCredential(t *lsv1alpha1.Target) {
	config := t.Spec.Configuration
	if config == nil || config.IsNull() {
		return
	}
	if account, _ := target.ServiceAccount(config.Raw); account != "" {
		l.remarks = append(l.remarks, notef("Target %s acts as service account %s: create it, with its rights, where you apply the manifests",
			t.Name, account))
	}
	if l.withSecrets || manifest.HarmlessConfig(config.Raw) {
		return
	}
	t.Spec.Configuration = nil
	t.Spec.SecretRef = &lsv1alpha1.LocalSecretReference{Name: t.Name + "-access"}
	if t.Spec.Type == lsv1alpha1.TargetTypeKubernetesCluster {
		t.Spec.SecretRef.Key = "kubeconfig"
	}
}

// chartConfiguration is where a Context has credentials for repositories of charts.
const chartConfiguration = "helmChartRepoCredentials"

// chartCredentials returns the Secrets that a Context names for repositories of charts. Credentials that it contains are taken out of it,
// unless they are wanted.
func (l *luggage) chartCredentials(c *lsv1alpha1.Context) []string {
	content, found := c.Configurations[chartConfiguration]
	if !found {
		return nil
	}
	var charts struct {
		Auths []map[string]any `json:"auths"`
	}
	if json.Unmarshal(content.Raw, &charts) != nil {
		if !l.withSecrets { // Nobody knows what is in it.
			delete(c.Configurations, chartConfiguration)
			l.remarks = append(l.remarks, notef("the unreadable %s of Context %s are left out", chartConfiguration, c.Name))
		}
		return nil
	}
	var secrets []string
	for _, auth := range charts.Auths {
		reference, _ := auth["secretRef"].(map[string]any)
		if name, _ := reference["name"].(string); name != "" {
			secrets = append(secrets, name)
		}
		if header, _ := auth["authHeader"].(string); header != "" && !l.withSecrets {
			delete(auth, "authHeader")
			l.remarks = append(l.remarks, notef("the authHeader for %v in Context %s is left out: add it where you apply the manifests",
				auth["url"], c.Name))
		}
	}
	if text, err := json.Marshal(charts); err == nil && !l.withSecrets {
		c.Configurations[chartConfiguration] = lsv1alpha1.AnyJSON{Raw: text}
	}
	return secrets
}
