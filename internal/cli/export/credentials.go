// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/manifest"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
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

// bareAuth takes the credentials out of an entry for a repository of charts.
func (l *luggage) bareAuth(auth map[string]any, context string) {
	if text, _ := auth["url"].(string); text != "" {
		bare, left := masking.WithoutUser(text)
		if auth["url"] = bare; left {
			l.remarks = append(l.remarks, notef("the credentials in the URL %s in Context %s are left out: they have no effect", bare, context))
		}
	}
	if header, _ := auth["authHeader"].(string); header != "" {
		delete(auth, "authHeader")
		l.remarks = append(l.remarks, notef("the authHeader for %v in Context %s is left out: add it where you apply the manifests",
			auth["url"], context))
	}
}

// bareRoot returns an installation without credentials in the URL of its blueprint, unless they are wanted.
func (l *luggage) bareRoot(root *lsv1alpha1.Installation) *lsv1alpha1.Installation {
	bare := root.DeepCopy()
	git := bare.Spec.Blueprint.Git
	if git == nil || l.withSecrets {
		return bare
	}
	var left bool
	if git.URL, left = masking.WithoutUser(git.URL); left {
		l.remarks = append(l.remarks, notef("the credentials in the URL %s of the blueprint of Installation %s are left out: they have no effect",
			git.URL, root.Name))
	}
	return bare
}

// hides reports whether a DataObject must be left out: an installation has exported it, and it contains what that imports from Secrets or
// Targets, or nobody who may not read those can tell.
func (l *luggage) hides(ctx context.Context, object *lsv1alpha1.DataObject) (bool, error) {
	source, exported := dataflow.InstallationOf(object.Labels[lsv1alpha1.DataObjectSourceLabel])
	if l.withSecrets || !exported {
		return false, nil
	}
	exporter := &lsv1alpha1.Installation{}
	if err := l.from.Client.Get(ctx, client.ObjectKey{Namespace: l.from.Namespace, Name: source}, exporter); err != nil {
		return false, l.from.Access.Explain(client.IgnoreNotFound(err), "read Installation "+source, l.from.Namespace)
	}
	secrets := confidential.Reader{Live: l.from.Client}.OfInstallation(ctx, exporter)
	if !secrets.Known() {
		return true, nil
	}
	var value any
	if err := json.Unmarshal(object.Data.Raw, &value); err != nil {
		return true, nil
	}
	_, found := secrets.Value(value)
	return found, nil
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
		if !l.withSecrets {
			l.bareAuth(auth, c.Name)
		}
	}
	if text, err := json.Marshal(charts); err == nil && !l.withSecrets {
		c.Configurations[chartConfiguration] = lsv1alpha1.AnyJSON{Raw: text}
	}
	return secrets
}
