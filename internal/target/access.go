// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// access is the connection that the content of a Target describes. Exactly one of kubeconfig, self and oidc is set.
type access struct {
	kubeconfig *rest.Config
	self       *tokenWish
	oidc       *tokenWish
	server     *rest.Config // of oidc, without a credential
	names      names        // of kubeconfig
}

// tokenWish describes the token of a service account.
type tokenWish struct {
	namespace, account string
	audiences          []string
	seconds            int64
	as                 tenant // who requests the token
}

func (w *tokenWish) String() string { return w.namespace + "/" + w.account }

const (
	keyKubeconfig = "kubeconfig"
	keySelf       = "selfConfig"
	keyOIDC       = "oidcConfig"

	minTokenSeconds = 600 // the API server issues none with a shorter lifetime
)

// readAccess reads the content of a Target in the given namespace.
func readAccess(namespace string, content []byte) (*access, error) {
	document, err := parseDocument(content, "the content")
	if err != nil {
		return nil, err
	}
	if document.isText() {
		return readKubeconfig(node{yaml: document.yaml, path: keyKubeconfig})
	}
	chosen, err := chooseForm(document)
	if err != nil {
		return nil, err
	}
	value := node{yaml: chosen.value.yaml, path: chosen.key}
	switch chosen.key {
	case keySelf:
		return readSelf(namespace, value)
	case keyOIDC:
		return readOIDC(namespace, value)
	case keyKubeconfig:
		return readKubeconfig(value)
	default:
		return wholeContent(document)
	}
}

// ServiceAccount returns the service account in the Target's namespace to which the content of a Target refers, and whether its token
// goes to a cluster other than the one that holds the Target. The name is empty if the content has its own credential, or cannot be
// read.
func ServiceAccount(content []byte) (name string, elsewhere bool) {
	read, err := readAccess("", content)
	switch {
	case err != nil:
		return "", false
	case read.self != nil:
		return read.self.account, false
	case read.oidc != nil:
		return read.oidc.account, true
	}
	return "", false
}

// chooseForm finds the one key that determines the form of the content; its name is empty if there is none.
func chooseForm(document node) (field, error) {
	fields, err := document.fields()
	if err != nil {
		return field{}, err
	}
	var chosen field
	for _, f := range fields {
		if !slices.Contains([]string{keyKubeconfig, keySelf, keyOIDC}, f.key) || f.value.blank() {
			continue
		}
		if chosen.key != "" {
			return field{}, invalid("the content has both %s and %s: keep only one", chosen.key, f.key)
		}
		chosen = f
	}
	return chosen, nil
}

func wholeContent(document node) (*access, error) {
	whole := node{yaml: document.yaml, path: keyKubeconfig}
	config, err := kubeconfigOf(whole)
	if err != nil {
		return nil, fmt.Errorf(
			"the content has none of the keys kubeconfig, selfConfig and oidcConfig, so it was read as a kubeconfig: %w",
			err,
		)
	}
	return &access{kubeconfig: config, names: namesIn(whole)}, nil
}

func readKubeconfig(value node) (*access, error) {
	var err error
	if value.isText() {
		if value, err = parseDocument([]byte(value.yaml.Value), keyKubeconfig); err != nil {
			return nil, err
		}
	}
	config, err := kubeconfigOf(value)
	if err != nil {
		return nil, err
	}
	return &access{kubeconfig: config, names: namesIn(value)}, nil
}

func readSelf(namespace string, value node) (*access, error) {
	var self lsv1alpha1.SelfConfig
	if err := decodeNode(value, &self); err != nil {
		return nil, err
	}
	wish, err := newWish(namespace, value.path, self.ServiceAccount.Name, self.ExpirationSeconds)
	if err != nil {
		return nil, err
	}
	return &access{self: wish}, nil
}

func readOIDC(namespace string, value node) (*access, error) {
	var oidc lsv1alpha1.OIDCConfig
	if err := decodeNode(value, &oidc); err != nil {
		return nil, err
	}
	wish, err := newWish(namespace, value.path, oidc.ServiceAccount.Name, oidc.ExpirationSeconds)
	if err != nil {
		return nil, err
	}
	wish.audiences = oidc.Audience
	server, err := checkServer(oidc.Server, value.path+".server")
	if err != nil {
		return nil, err
	}
	if err := checkAuthority(oidc.CAData, value.path+".caData"); err != nil {
		return nil, err
	}
	if len(oidc.Audience) == 0 {
		return nil, invalid(
			"%s.audience is missing: set the audience that the target cluster expects; a token without one would be valid for the cluster of the Target",
			value.path,
		)
	}
	config := &rest.Config{Host: server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: oidc.CAData}}
	return &access{oidc: wish, server: config}, nil
}

func newWish(namespace, path, account string, seconds *int64) (*tokenWish, error) {
	if account == "" {
		return nil, invalid("%s.serviceAccount.name is missing: set a service account in the namespace of the Target", path)
	}
	wish := &tokenWish{namespace: namespace, account: account, seconds: lsv1alpha1.DefaultTokenExpirationSeconds}
	if seconds != nil {
		wish.seconds = *seconds
	}
	if wish.seconds < minTokenSeconds {
		return nil, invalid("%s.expirationSeconds is less than %d, the minimum that an API server accepts", path, minTokenSeconds)
	}
	return wish, nil
}

// decodeNode decodes an API object through JSON.
func decodeNode(value node, into any) error {
	var plain any
	if value.yaml.Kind != yaml.MappingNode || value.yaml.Decode(&plain) != nil {
		return invalid("%s is not an object", value.path)
	}
	text, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return invalid("%s cannot be read: compare the types of its fields with the documentation", value.path)
	}
	return nil
}

// fingerprint distinguishes credentials without storing them.
type fingerprint [sha256.Size]byte

// fingerprint is the same for contents that lead to the same cluster with the same credential.
func (a *access) fingerprint() fingerprint {
	h := sha256.New()
	if a.kubeconfig != nil {
		c := a.kubeconfig
		writeParts(
			h,
			"kubeconfig",
			c.Host,
			c.ServerName,
			string(c.CAData),
			string(c.CertData),
			string(c.KeyData),
			c.BearerToken,
			c.Username,
			c.Password,
		)
	}
	if a.server != nil {
		writeParts(h, "server", a.server.Host, string(a.server.CAData))
	}
	for _, wish := range []*tokenWish{a.self, a.oidc} {
		if wish != nil {
			writeParts(h, wish.as.String())
			writeParts(h, append([]string{"token", wish.namespace, wish.account, fmt.Sprint(wish.seconds)}, wish.audiences...)...)
		}
	}
	return fingerprint(h.Sum(nil))
}

// clusterID identifies an API server by how it is reached and verified, regardless of the credential.
func clusterID(config *rest.Config) string {
	h := sha256.New()
	writeParts(h, config.Host, config.ServerName, string(bytes.TrimSpace(config.CAData)), config.CAFile)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// writeParts separates the parts unambiguously.
func writeParts(h hash.Hash, parts ...string) {
	var size [8]byte
	for _, part := range append(parts, "") {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
}
