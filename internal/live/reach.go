// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/target"
)

// Reach is the result of contacting a target cluster.
type Reach struct {
	// Version is the version of the API server; empty if the API server does not reveal it.
	Version string
	// Took is the duration of its answer.
	Took time.Duration
	// Expires is when the first of the certificates and tokens of the Target and the API server expires. It is zero if none does, as for
	// tokens that are renewed.
	Expires time.Time
	// Expiring is which of them expires first: one of the Expiring constants.
	Expiring string
	// Account is the service account of the Target's namespace that the Target acts as; empty if it has its own credential.
	Account string
}

// What may expire.
const (
	ExpiringClientCertificate = "client certificate"
	ExpiringToken             = "token"
	ExpiringServerCertificate = "server certificate"
)

// ErrTokenKept means that a Target was not checked because that would have sent a token of a service account to another cluster.
var ErrTokenKept = errors.New("its cluster was not contacted, because that would send a token of a service account there")

// ErrRefused means that the cluster of a Target no longer accepts its credential.
var ErrRefused = errors.New("the cluster rejects the credential: it may have expired or been revoked; put a new one into the Target")

// Reach checks whether the cluster of a Target answers. It reads the Target and its Secret with the rights of the caller. An error
// comes with the results so far, and contains no value of the Target.
func (r Reader) Reach(ctx context.Context, key client.ObjectKey) (Reach, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	var t lsv1alpha1.Target
	if err := r.Host.Get(ctx, key, &t); err != nil {
		return Reach{}, fmt.Errorf("read Target %s: %w", key, err)
	}
	return r.ReachTarget(ctx, &t)
}

// ReachTarget does the same for a Target that has already been read.
func (r Reader) ReachTarget(ctx context.Context, t *lsv1alpha1.Target) (Reach, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	content, err := r.Clusters.Content(ctx, t)
	if err != nil {
		return Reach{}, err
	}
	account, elsewhere := target.ServiceAccount(content)
	if elsewhere && r.KeepTokens {
		return Reach{Account: account}, ErrTokenKept
	}
	found, err := ask(ctx, content, func() (*target.Cluster, error) { return r.Clusters.For(ctx, t) })
	found.Account = account
	return found, err
}

// ReachGitopsCluster does the same for a GitopsCluster.
func (r Reader) ReachGitopsCluster(ctx context.Context, key client.ObjectKey) (Reach, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	var c gitops.GitopsCluster
	if err := r.Host.Get(ctx, key, &c); err != nil {
		return Reach{}, fmt.Errorf("read GitopsCluster %s: %w", key, err)
	}
	content, err := r.kubeconfigOf(ctx, &c)
	if err != nil {
		return Reach{}, err
	}
	return ask(ctx, content, func() (*target.Cluster, error) {
		return r.Clusters.ForKubeconfig(ctx, "GitopsCluster "+key.String(), content)
	})
}

// ask connects to the cluster of some content, and asks it for its version. Answers may quote the request, so the error is masked.
func ask(ctx context.Context, content []byte, connect func() (*target.Cluster, error)) (found Reach, err error) {
	var secrets masking.Values
	secrets.AddCredentials(map[string][]byte{"": kubeconfigIn(content)})
	defer func() { err = secrets.Error(err) }()
	found.expire(credentialsIn(content)...)
	cluster, err := connect()
	if err != nil {
		return found, err
	}
	began := time.Now()
	var server time.Time
	found.Version, err = versionOf(withServerCertificate(ctx, &server), cluster.Config())
	found.Took = time.Since(began)
	found.expire(ending{server, ExpiringServerCertificate})
	return found, err
}

func (r Reader) kubeconfigOf(ctx context.Context, c *gitops.GitopsCluster) ([]byte, error) {
	name, key, found := target.KubeconfigSecret(c)
	if !found {
		return nil, errors.New("it has neither spec.secretRef nor spec.capiClusterRef: set one of them")
	}
	var secret corev1.Secret
	if err := r.Host.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &secret); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", c.Namespace, name, err)
	}
	if len(secret.Data[key]) == 0 {
		return nil, fmt.Errorf("the Secret %s/%s has no key %s: add it", c.Namespace, name, key)
	}
	return secret.Data[key], nil
}

// ending is when something expires; the zero time means never.
type ending struct {
	at   time.Time
	what string
}

// expire keeps the earliest ending.
func (r *Reach) expire(endings ...ending) {
	for _, end := range endings {
		if !end.at.IsZero() && (r.Expires.IsZero() || end.at.Before(r.Expires)) {
			r.Expires, r.Expiring = end.at, end.what
		}
	}
}

// withServerCertificate records the expiry of the server's certificate in requests with this context.
func withServerCertificate(ctx context.Context, end *time.Time) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		encrypted, ok := got.Conn.(*tls.Conn)
		if !ok {
			return
		}
		if shown := encrypted.ConnectionState().PeerCertificates; len(shown) > 0 {
			*end = shown[0].NotAfter
		}
	}})
}

// versionOf asks an API server for its version. A server that denies the request has answered, too.
func versionOf(ctx context.Context, config *rest.Config) (string, error) {
	asker, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("prepare to ask for the version: %w", err)
	}
	text, err := asker.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	switch {
	case apierrors.IsForbidden(err):
		return "", nil
	case apierrors.IsUnauthorized(err):
		return "", ErrRefused
	case err != nil:
		return "", fmt.Errorf("ask for the version of the cluster: %w", err)
	}
	var info apiversion.Info
	if json.Unmarshal(text, &info) != nil {
		return "", errors.New("the address of the Target does not belong to an API server")
	}
	return info.GitVersion, nil
}

// credentialsIn returns the endings of the credentials in the content of a Target. Tokens of service accounts that are requested for each
// connection have none.
func credentialsIn(content []byte) []ending {
	config, err := target.ParseKubeconfig(kubeconfigIn(content))
	if err != nil {
		return nil // It has none, or its user will report the problem.
	}
	return []ending{{certificateEnd(config.CertData), ExpiringClientCertificate}, {tokenEnd(config.BearerToken), ExpiringToken}}
}

// kubeconfigIn returns the kubeconfig in the content of a Target, which holds it under a key, as text, or is one itself.
func kubeconfigIn(content []byte) []byte {
	var text string
	if yaml.Unmarshal(content, &text) == nil && text != "" {
		return []byte(text)
	}
	var keys struct {
		Kubeconfig any `json:"kubeconfig"`
	}
	if yaml.Unmarshal(content, &keys) != nil || keys.Kubeconfig == nil {
		return content
	}
	if text, ok := keys.Kubeconfig.(string); ok {
		return []byte(text)
	}
	document, err := yaml.Marshal(keys.Kubeconfig)
	if err != nil {
		return content
	}
	return document
}

// certificateEnd returns the expiry of the first certificate in a PEM file, which is the client's own.
func certificateEnd(file []byte) time.Time {
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}
		}
		return certificate.NotAfter
	}
	return time.Time{}
}

// tokenEnd returns the expiry of a JSON Web Token. The signature need not be verified: the cluster decides.
func tokenEnd(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}
