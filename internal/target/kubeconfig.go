// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// ParseKubeconfig returns the connection to the cluster of a kubeconfig's current context. The text is YAML or JSON.
//
// Parts that the current context does not use are ignored. Parts that it uses may contain only the keys of allowedCluster and
// allowedUser: a kubeconfig that can run a command, read a file or send requests elsewhere is rejected, and so is one with an unknown
// key. Errors are terminal; they name the key and what to do, and contain no value.
func ParseKubeconfig(raw []byte) (*rest.Config, error) {
	document, err := parseDocument(raw, "kubeconfig")
	if err != nil {
		return nil, err
	}
	return kubeconfigOf(document)
}

func kubeconfigOf(document node) (*rest.Config, error) {
	parts, err := readKeys(document, allowedTop)
	if err != nil {
		return nil, err
	}
	if err := checkKind(parts); err != nil {
		return nil, err
	}
	cluster, user, err := currentContext(document.path, parts)
	if err != nil {
		return nil, err
	}
	config := &rest.Config{QPS: -1}
	if err := readCluster(cluster, config); err != nil {
		return nil, err
	}
	if err := readUser(user, config); err != nil {
		return nil, err
	}
	return config, nil
}

func checkKind(parts map[string]node) error {
	for _, header := range []struct{ key, want string }{{"apiVersion", "v1"}, {"kind", "Config"}} {
		got, err := parts[header.key].text()
		if err != nil {
			return err
		}
		if got != "" && got != header.want {
			return invalid("%s is not %q: this is not a kubeconfig", parts[header.key].path, header.want)
		}
	}
	return nil
}

// currentContext finds the cluster and the user of the current context.
func currentContext(path string, parts map[string]node) (cluster, user node, err error) {
	name, err := required(parts, "current-context", path)
	if err != nil {
		return node{}, node{}, err
	}
	current, err := named(parts["contexts"], path+".contexts", "context", name)
	if err != nil {
		return node{}, node{}, err
	}
	uses, err := readKeys(current, allowedContext)
	if err != nil {
		return node{}, node{}, err
	}
	for _, use := range []struct {
		key, list string
		found     *node
	}{{"cluster", "clusters", &cluster}, {"user", "users", &user}} {
		name, err := required(uses, use.key, current.path)
		if err != nil {
			return node{}, node{}, err
		}
		if *use.found, err = named(parts[use.list], path+"."+use.list, use.key, name); err != nil {
			return node{}, node{}, err
		}
	}
	return cluster, user, nil
}

// namesIn returns the names in a kubeconfig that kubeconfigOf accepts.
func namesIn(document node) names {
	parts, err := readKeys(document, allowedTop)
	if err != nil {
		return names{}
	}
	found := names{}
	found.context, _ = parts["current-context"].text()
	current, err := named(parts["contexts"], document.path, "context", found.context)
	if err != nil {
		return names{}
	}
	if uses, err := readKeys(current, allowedContext); err == nil {
		found.cluster, _ = uses["cluster"].text()
		found.user, _ = uses["user"].text()
	}
	return found
}

// named returns the value of key in the one entry of a list with the given name. Other entries are not examined any further.
func named(list node, path, key, name string) (node, error) {
	entries, err := list.items()
	if err != nil {
		return node{}, err
	}
	var found *node
	for _, entry := range entries {
		fields, err := entry.fields()
		if err != nil {
			return node{}, err
		}
		parts := map[string]node{}
		for _, f := range fields {
			parts[f.key] = f.value
		}
		if got, err := parts["name"].text(); err != nil || got != name {
			continue
		}
		if found != nil {
			return node{}, invalid("%s has two entries with the name that the current context uses: keep only one", path)
		}
		if _, err := readKeys(entry, keys{allowed: []string{"name", key}}); err != nil {
			return node{}, err
		}
		value := entry.child(key, parts[key].yaml)
		found = &value
	}
	if found == nil {
		return node{}, invalid("%s has no entry with the name that the current context uses: add it", path)
	}
	return *found, nil
}

func readCluster(cluster node, config *rest.Config) error {
	parts, err := readKeys(cluster, allowedCluster)
	if err != nil {
		return err
	}
	server, err := required(parts, "server", cluster.path)
	if err != nil {
		return err
	}
	if config.Host, err = checkServer(server, cluster.path+".server"); err != nil {
		return err
	}
	if config.ServerName, err = parts["tls-server-name"].text(); err != nil {
		return err
	}
	if config.CAData, err = decodeBase64(parts["certificate-authority-data"]); err != nil {
		return err
	}
	return checkAuthority(config.CAData, cluster.path+".certificate-authority-data")
}

// checkServer accepts the URL of an API server with TLS, without credentials, query or fragment.
func checkServer(server, path string) (string, error) {
	address, err := url.Parse(server)
	if err != nil {
		return "", invalid("%s is not a URL", path)
	}
	switch {
	case address.Scheme != "https":
		return "", invalid("%s does not start with https://: connections must be encrypted", path)
	case address.Hostname() == "":
		return "", invalid("%s has no host", path)
	case address.User != nil:
		return "", invalid("%s contains a user: credentials belong to the user of the kubeconfig", path)
	case address.RawQuery != "" || address.Fragment != "" || address.ForceQuery:
		return "", invalid("%s contains a query or a fragment: an API server has none", path)
	}
	return address.String(), nil
}

func checkAuthority(bundle []byte, path string) error {
	if len(bundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		return invalid("%s contains no certificate in PEM form", path)
	}
	return nil
}

func readUser(user node, config *rest.Config) error {
	parts, err := readKeys(user, allowedUser)
	if err != nil {
		return err
	}
	for _, secret := range []struct {
		key  string
		into *string
	}{{"token", &config.BearerToken}, {"username", &config.Username}, {"password", &config.Password}} {
		if *secret.into, err = parts[secret.key].text(); err != nil {
			return err
		}
	}
	if config.CertData, err = decodeBase64(parts["client-certificate-data"]); err != nil {
		return err
	}
	if config.KeyData, err = decodeBase64(parts["client-key-data"]); err != nil {
		return err
	}
	return checkCredential(config, user.path)
}

func checkCredential(config *rest.Config, path string) error {
	certificate, basic := len(config.CertData)+len(config.KeyData) > 0, config.Username+config.Password != ""
	switch {
	case config.BearerToken == "" && !basic && !certificate:
		return invalid("%s has no credential: add token, client-certificate-data with client-key-data, or username with password", path)
	case config.BearerToken != "" && basic:
		return invalid("%s has both a token and a username or password: keep one of them", path)
	case basic && config.Username == "":
		return invalid("%s.username is missing beside the password", path)
	case strings.ContainsFunc(config.BearerToken, notInToken):
		return invalid("%s.token contains white space or a character that no token has", path)
	case certificate:
		return checkKeyPair(config, path)
	}
	return nil
}

func checkKeyPair(config *rest.Config, path string) error {
	if _, err := tls.X509KeyPair(config.CertData, config.KeyData); err != nil {
		return invalid("%s: client-certificate-data and client-key-data are not a certificate in PEM form and its key", path)
	}
	return nil
}

func notInToken(r rune) bool { return r <= ' ' || r > '~' }

func decodeBase64(value node) ([]byte, error) {
	text, err := value.text()
	if err != nil || text == "" {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid("%s is not base64", value.path)
	}
	return decoded, nil
}
