// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "espalier.dev/api/deployer/helm/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/credentials"
)

// access is the credential for a server, and the authority to trust. The zero value contains neither.
type access struct {
	header string
	trust  *x509.CertPool
}

// defaultHeaderKey is the key in a Secret if a reference names none.
const defaultHeaderKey = "authHeader"

//espalier:rights deployer-helm
//	get contexts,secrets,configmaps: where charts come from, and the credentials for it

// scopeOf reads the Context of a deploy item; nil if that is the default one and it does not exist.
func (s *Source) scopeOf(ctx context.Context, r Request) (*lsv1alpha1.Context, error) {
	name := r.Context
	if name == "" {
		name = lsv1alpha1.DefaultContextName
	}
	scope := &lsv1alpha1.Context{}
	err := s.options.Host.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, scope)
	if apierrors.IsNotFound(err) && name == lsv1alpha1.DefaultContextName {
		return nil, nil
	}
	if err != nil {
		return nil, unfetched(fmt.Errorf("read the Context %s with the credentials for charts: %w", name, err))
	}
	return scope, nil
}

// repositoryCredentials returns the credentials for chart repositories in a Context.
func repositoryCredentials(scope *lsv1alpha1.Context) ([]helmv1alpha1.ChartRepoAuth, error) {
	if scope == nil {
		return nil, nil
	}
	raw, found := scope.Configurations[helmv1alpha1.ChartRepoCredentialsKey]
	if !found {
		return nil, nil
	}
	var listed helmv1alpha1.ChartRepoCredentials
	if raw.Decode(&listed) != nil {
		return nil, credentialProblem(scope, "must be an object with the list auths")
	}
	return listed.Auths, nil
}

func credentialProblem(scope *lsv1alpha1.Context, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return invalid(fmt.Errorf("%s %s, configurations.%s: %s", kindContext, scope.Name, helmv1alpha1.ChartRepoCredentialsKey, text))
}

// accessTo returns the credential for an address: from the entry whose url is the longest prefix of it, or else from the
// Context's consumers that are chart repositories.
func (s *Source) accessTo(ctx context.Context, scope *lsv1alpha1.Context, address *url.URL) (access, error) {
	auths, err := repositoryCredentials(scope)
	if err != nil {
		return access{}, err
	}
	best, bestLength := -1, -1
	for i, auth := range auths {
		place, err := parseAddress(withScheme(auth.URL))
		if auth.URL == "" || err != nil {
			return access{}, credentialProblem(scope, "auths[%d].url is missing or not a URL: credentials are sent only there", i)
		}
		if length, fits := begins(place, address); fits && length > bestLength {
			best, bestLength = i, length
		}
	}
	if best < 0 {
		return s.consumerAccess(ctx, scope, address)
	}
	return s.readAccess(ctx, scope, auths[best], fmt.Sprintf("auths[%d]", best))
}

// consumerAccess looks up an address in the ocmConfig and registryPullSecrets of a Context.
func (s *Source) consumerAccess(ctx context.Context, scope *lsv1alpha1.Context, address *url.URL) (access, error) {
	if scope == nil {
		return access{}, nil
	}
	config, err := credentials.OfContext(scope, s.contents(ctx, scope.Namespace))
	if err != nil {
		return access{}, unfetched(aboutContext(scope, err))
	}
	known, found := config.Credentials.Find(credentials.Address{
		Type:   credentials.TypeHelmChartRepository,
		Scheme: address.Scheme,
		Host:   address.Hostname(),
		Port:   portOf(address),
		Path:   strings.TrimPrefix(address.Path, "/"),
	})
	if !found {
		return access{}, nil
	}
	var result access
	if known.Username != "" || known.Password != "" {
		result.header = "Basic " + base64.StdEncoding.EncodeToString([]byte(known.Username+":"+known.Password))
	}
	if known.CertificateAuthority != "" {
		if result.trust, err = readAuthority(known.CertificateAuthority); err != nil {
			return access{}, unfetched(aboutContext(scope, fmt.Errorf("certificateAuthority of the credential for %s %w", shown(address), err)))
		}
	}
	return result, nil
}

// withScheme adds the scheme to an address that has none.
func withScheme(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), "/")
	if text != "" && !strings.Contains(text, "://") {
		return "https://" + text
	}
	return text
}

// begins reports whether an address lies at or below a place, and how specific the place is.
func begins(place, address *url.URL) (length int, fits bool) {
	if place.Scheme != address.Scheme || !strings.EqualFold(place.Hostname(), address.Hostname()) || portOf(place) != portOf(address) {
		return 0, false
	}
	folder, path := strings.TrimSuffix(place.Path, "/"), address.Path
	if folder != "" && path != folder && !strings.HasPrefix(path, folder+"/") {
		return 0, false
	}
	return len(folder), true
}

func portOf(address *url.URL) string {
	if port := address.Port(); port != "" {
		return port
	}
	if address.Scheme == "http" {
		return "80"
	}
	return "443"
}

func (s *Source) readAccess(ctx context.Context, scope *lsv1alpha1.Context, auth helmv1alpha1.ChartRepoAuth, path string) (access, error) {
	var result access
	header := auth.AuthHeader
	if auth.SecretRef != nil {
		if header != "" {
			return access{}, credentialProblem(scope, "%s: set either authHeader or secretRef", path)
		}
		var err error
		if header, err = s.readHeader(ctx, scope, *auth.SecretRef); err != nil {
			return access{}, err
		}
	}
	if scheme, _, _ := strings.Cut(header, " "); header != "" && !strings.EqualFold(scheme, "basic") {
		return access{}, credentialProblem(scope, "%s: the value of the header must begin with Basic", path)
	}
	result.header = strings.TrimSpace(header)
	if auth.CustomCAData != "" {
		trust, err := readAuthority(auth.CustomCAData)
		if err != nil {
			return access{}, credentialProblem(scope, "%s.customCAData %v", path, err)
		}
		result.trust = trust
	}
	return result, nil
}

func (s *Source) readHeader(ctx context.Context, scope *lsv1alpha1.Context, ref lsv1alpha1.LocalSecretReference) (string, error) {
	secret := &corev1.Secret{}
	if err := s.options.Host.Get(ctx, client.ObjectKey{Namespace: scope.Namespace, Name: ref.Name}, secret); err != nil {
		return "", unfetched(fmt.Errorf("read Secret %s with the credentials for a chart repository: %w", ref.Name, err))
	}
	key := ref.Key
	if key == "" {
		key = defaultHeaderKey
	}
	value, found := secret.Data[key]
	if !found {
		return "", unfetched(fmt.Errorf("the Secret %s with the credentials for a chart repository has no key %s", ref.Name, key))
	}
	return string(value), nil
}

// readAuthority accepts PEM, and base64-encoded PEM.
func readAuthority(text string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if pool.AppendCertsFromPEM([]byte(text)) {
		return pool, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err == nil && pool.AppendCertsFromPEM(decoded) {
		return pool, nil
	}
	return nil, errors.New("has no certificate: use PEM")
}
