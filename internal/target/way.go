// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Way is how a kubeconfig reaches a cluster, without the credential: the address of the cluster, its verification, and the
// names in the kubeconfig.
type Way struct {
	Context, Cluster, User string
	Server, ServerName     string
	Authority              []byte
}

// WayOf returns the way to the cluster of a Target. It sends no request to the cluster. A Target with selfConfig has no way: the external
// address of the management cluster is unknown here.
func (c *Clusters) WayOf(ctx context.Context, t *lsv1alpha1.Target) (Way, error) {
	way, err := c.wayOf(ctx, t)
	if err != nil {
		return Way{}, fmt.Errorf("target %s/%s: %w", t.Namespace, t.Name, err)
	}
	return way, nil
}

func (c *Clusters) wayOf(ctx context.Context, t *lsv1alpha1.Target) (Way, error) {
	content, err := c.content(ctx, t)
	if err != nil {
		return Way{}, err
	}
	a, err := readAccess(t.Namespace, content)
	if err != nil {
		return Way{}, err
	}
	way := Way{Context: t.Name, Cluster: t.Name, User: t.Name}
	switch {
	case a.kubeconfig != nil:
		way = a.names.or(way)
		way.Server, way.ServerName, way.Authority = a.kubeconfig.Host, a.kubeconfig.ServerName, a.kubeconfig.CAData
	case a.oidc != nil:
		way.Server, way.Authority = a.server.Host, a.server.CAData
	default:
		return Way{}, invalid("a Target with selfConfig has no kubeconfig: use one with a kubeconfig or oidcConfig")
	}
	return way, nil
}

// names are the names of the current context of a kubeconfig, its cluster and its user.
type names struct{ context, cluster, user string }

func (n names) or(way Way) Way {
	if n.context != "" {
		way.Context, way.Cluster, way.User = n.context, n.cluster, n.user
	}
	return way
}

// WithToken returns a kubeconfig with the token of a user.
func (w Way) WithToken(user, token string) (string, error) {
	w.User = user
	return w.kubeconfig(clientcmdv1.AuthInfo{Token: token})
}

// loginArguments are the arguments of kubectl's plug-in oidc-login, except issuer and client.
var loginArguments = []string{
	"--oidc-extra-scope=email", "--oidc-extra-scope=profile", "--oidc-extra-scope=offline_access", "--oidc-use-pkce", "--grant-type=auto",
}

// WithLogin returns a kubeconfig with which users log in at an identity provider. It runs a command on their machines, so controllers
// cannot use it.
func (w Way) WithLogin(issuer, client string) (string, error) {
	arguments := append([]string{"oidc-login", "get-token", "--oidc-issuer-url=" + issuer, "--oidc-client-id=" + client}, loginArguments...)
	return w.kubeconfig(clientcmdv1.AuthInfo{Exec: &clientcmdv1.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "kubectl", Args: arguments,
	}})
}

func (w Way) kubeconfig(user clientcmdv1.AuthInfo) (string, error) {
	text, err := yaml.Marshal(clientcmdv1.Config{
		Kind: "Config", APIVersion: "v1", CurrentContext: w.Context,
		Contexts: []clientcmdv1.NamedContext{{Name: w.Context, Context: clientcmdv1.Context{Cluster: w.Cluster, AuthInfo: w.User}}},
		Clusters: []clientcmdv1.NamedCluster{{Name: w.Cluster, Cluster: clientcmdv1.Cluster{
			Server: w.Server, TLSServerName: w.ServerName, CertificateAuthorityData: w.Authority,
		}}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: w.User, AuthInfo: user}},
	})
	if err != nil {
		return "", invalid("the kubeconfig cannot be written")
	}
	return string(text), nil
}

// OnlyUser returns the name of the user in a kubeconfig that has only one.
func OnlyUser(raw []byte) (string, error) {
	config, err := decodeSound(raw)
	if err != nil {
		return "", err
	}
	return config.AuthInfos[0].Name, nil
}

// ReplaceCredential returns a kubeconfig with one user, with a token replacing that user's credential. Everything else stays.
func ReplaceCredential(raw []byte, token string) ([]byte, error) {
	config, err := decodeSound(raw)
	if err != nil {
		return nil, err
	}
	config.AuthInfos[0].AuthInfo = clientcmdv1.AuthInfo{Token: token}
	return yaml.Marshal(config)
}

// OneContext returns the part of a kubeconfig that a Target needs: one context with its cluster and its user. Readers of the Target need
// no credentials of other clusters. An empty name means the current context. The part is rejected under the same
// conditions as in ParseKubeconfig.
func OneContext(raw []byte, context string) (string, error) {
	document, err := parseDocument(raw, "kubeconfig")
	if err != nil {
		return "", err
	}
	if context != "" {
		document.set("current-context", context)
	}
	config, err := kubeconfigOf(document)
	if err != nil {
		return "", err
	}
	way := namesIn(document).or(Way{})
	way.Server, way.ServerName, way.Authority = config.Host, config.ServerName, config.CAData
	return way.kubeconfig(clientcmdv1.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		Username: config.Username, Password: config.Password,
	})
}

// decodeSound decodes a kubeconfig that ParseKubeconfig accepts.
func decodeSound(raw []byte) (*clientcmdv1.Config, error) {
	if _, err := ParseKubeconfig(raw); err != nil {
		return nil, err
	}
	config := &clientcmdv1.Config{}
	if err := yaml.Unmarshal(raw, config); err != nil {
		return nil, invalid("kubeconfig cannot be decoded: compare the types of its fields with the documentation")
	}
	if len(config.AuthInfos) != 1 {
		return nil, invalid("kubeconfig.users has %d entries: keep the one of the service account of the token",
			len(config.AuthInfos))
	}
	return config, nil
}
