// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigIn returns the path of the kubeconfig that a control plane with that data directory writes.
func KubeconfigIn(dataDir string) string { return filepath.Join(dataDir, kubeconfigFile) }

// access is how the administrator reaches the API server.
type access struct {
	name    string
	address string
	keys    keys
}

func newAccess(name, address string, keys keys) access {
	return access{name: name, address: address, keys: keys}
}

func (a access) url() string { return "https://" + a.address }

func (a access) port() int {
	_, port, err := net.SplitHostPort(a.address)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

func (a access) restConfig() *rest.Config {
	return &rest.Config{
		Host: a.url(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   a.keys.ca,
			CertData: a.keys.adminCert,
			KeyData:  a.keys.adminKey,
		},
		QPS: -1,
	}
}

func (a access) kubeconfig() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	a.addTo(config)
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode kubeconfig: %w", err)
	}
	return raw, nil
}

func (a access) addTo(config *clientcmdapi.Config) {
	config.Clusters[a.name] = &clientcmdapi.Cluster{Server: a.url(), CertificateAuthorityData: a.keys.ca}
	config.AuthInfos[a.name] = &clientcmdapi.AuthInfo{ClientCertificateData: a.keys.adminCert, ClientKeyData: a.keys.adminKey}
	config.Contexts[a.name] = &clientcmdapi.Context{Cluster: a.name, AuthInfo: a.name}
	config.CurrentContext = a.name
}

// writeKubeconfig adds this access to the file as its current context and keeps all other entries of the file.
func (a access) writeKubeconfig(path string) error {
	path, config, err := readKubeconfig(path)
	if err != nil {
		return err
	}
	a.addTo(config)
	return saveKubeconfig(path, config)
}

// removeFromKubeconfig undoes writeKubeconfig, unless the entry now refers to another server. A file without other entries is removed.
func (a access) removeFromKubeconfig(path string) error {
	path, config, err := readKubeconfig(path)
	if err != nil {
		return err
	}
	if cluster := config.Clusters[a.name]; cluster == nil || cluster.Server != a.url() {
		return nil
	}
	delete(config.Clusters, a.name)
	delete(config.AuthInfos, a.name)
	delete(config.Contexts, a.name)
	if config.CurrentContext == a.name {
		config.CurrentContext = ""
	}
	if len(config.Clusters)+len(config.AuthInfos)+len(config.Contexts) > 0 {
		return saveKubeconfig(path, config)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove kubeconfig: %w", err)
	}
	return nil
}

// readKubeconfig returns an empty config for a missing file, and the path with symbolic
// links resolved, because replacing a link would cut it from its target.
func readKubeconfig(path string) (string, *clientcmdapi.Config, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return path, nil, fmt.Errorf("read kubeconfig %s, which stays unchanged: %w", path, err)
	}
	return path, config, nil
}

func saveKubeconfig(path string, config *clientcmdapi.Config) error {
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return writeFile(path, raw)
}
