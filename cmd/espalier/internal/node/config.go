// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/nodeinit"
)

const (
	// Name of the node.
	Name = "espalier-node"

	domain     = "cluster.local"
	pauseImage = "espalier.local/pause:1"

	containerdSocket = "/run/containerd/containerd.sock"

	etcFolder        = "etc"
	netFolder        = "net.d" // containerd treats every file in it as a network configuration
	logFolder        = "log"
	kubeletFolder    = "kubelet"
	containerdFolder = "containerd"
	podLogsFolder    = "pods"
)

// inside returns a path in the directory of the node, as its programs see it.
func inside(parts ...string) string {
	return filepath.Join(append([]string{nodeinit.StateDir}, parts...)...)
}

// configuration writes the configuration files of the node's programs.
type configuration struct {
	cp      *controlplane.ControlPlane
	network *Network
	cgroup  string
	plugins string // the folder of the network plugins
	dir     string // where to write
}

func (c configuration) write() error {
	texts := map[string][]byte{
		"ca.crt":          c.cp.Authority(),
		"containerd.toml": []byte(c.containerd()),
		filepath.Join(netFolder, "pods.conflist"): asJSON(c.podNetwork()),
		"kubelet.json":    asJSON(c.kubelet()),
		"kube-proxy.json": asJSON(c.proxy()),
	}
	key, err := os.ReadFile(c.cp.ServiceAccountKeyFile())
	if err != nil {
		return fmt.Errorf("read the key of service accounts: %w", err)
	}
	texts["service-account.key"] = key
	if err := c.addCredentials(texts); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
			return fmt.Errorf("configure the node: %w", err)
		}
	}
	return nil
}

// addCredentials gives each program the identity that Kubernetes expects. The controller manager runs many controllers, so it is the
// administrator; the name server reads the same objects as the proxy, and shares its identity.
func (c configuration) addCredentials(texts map[string][]byte) error {
	certificate, key, err := c.cp.Certificate("node-kubelet", pkix.Name{
		CommonName: "system:node:" + Name, Organization: []string{"system:nodes"},
	}, c.network.Node())
	if err != nil {
		return err
	}
	texts["kubelet.crt"], texts["kubelet.key"] = certificate, key
	if texts["kubelet.kubeconfig"], err = c.cp.NodeKubeconfig(certificate, key); err != nil {
		return err
	}
	for _, user := range []string{"kube-scheduler", "kube-proxy"} {
		certificate, key, err := c.cp.Certificate("node-"+user, pkix.Name{CommonName: "system:" + user})
		if err != nil {
			return err
		}
		if texts[user+".kubeconfig"], err = c.cp.NodeKubeconfig(certificate, key); err != nil {
			return err
		}
	}
	texts["kube-controller-manager.kubeconfig"], err = c.cp.NodeKubeconfig(c.cp.AdminCertificate())
	return err
}

// asJSON encodes values of this file.
func asJSON(value map[string]any) []byte {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // The value consists of strings, numbers and maps.
	}
	return text
}

// containerd returns its configuration. Without restrict_oom_score_adj, no pod can run on machines that deny the right to set it.
func (c configuration) containerd() string {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	return strings.Join([]string{
		`version = 2`,
		fmt.Sprintf(`root = %q`, inside(containerdFolder)),
		`state = "/run/containerd"`,
		`[grpc]`,
		fmt.Sprintf(`address = %q`, containerdSocket),
		`[plugins."io.containerd.internal.v1.opt"]`,
		`path = "/run/containerd/opt"`,
		`[` + cri + `]`,
		fmt.Sprintf(`sandbox_image = %q`, pauseImage),
		`restrict_oom_score_adj = true`,
		`disable_apparmor = true`,
		`[` + cri + `.containerd]`,
		`snapshotter = "overlayfs"`,
		`default_runtime_name = "runc"`,
		`[` + cri + `.containerd.runtimes.runc]`,
		`runtime_type = "io.containerd.runc.v2"`,
		`[` + cri + `.containerd.runtimes.runc.options]`,
		`SystemdCgroup = false`,
		`[` + cri + `.cni]`,
		fmt.Sprintf(`bin_dir = %q`, c.plugins),
		fmt.Sprintf(`conf_dir = %q`, inside(etcFolder, netFolder)),
		``,
	}, "\n")
}

// podNetwork makes all pods ports of the node's bridge. Allocated addresses are recorded in memory, because the pods end with the node.
func (c configuration) podNetwork() map[string]any {
	return map[string]any{
		"cniVersion": "0.4.0",
		"name":       "pods",
		"plugins": []any{
			map[string]any{
				"type": "bridge", "bridge": bridgeName, "isGateway": true, "isDefaultGateway": true, "hairpinMode": true,
				"ipam": map[string]any{
					"type": "host-local", "dataDir": "/run/pod-addresses",
					"ranges": []any{[]any{map[string]any{
						"subnet": c.network.Subnet(), "gateway": c.network.Node().String(),
						"rangeStart": c.network.host(firstPodHost).String(), "rangeEnd": c.network.host(lastPodHost).String(),
					}}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}
}

// kubelet returns its configuration. Removed images cannot be pulled again, so no image is removed for lack of space, and no pod
// is evicted.
func (c configuration) kubelet() map[string]any {
	return map[string]any{
		"apiVersion":    "kubelet.config.k8s.io/v1beta1",
		"kind":          "KubeletConfiguration",
		"address":       c.network.Node().String(),
		"tlsCertFile":   inside(etcFolder, "kubelet.crt"),
		"clusterDomain": domain,
		"clusterDNS":    []string{c.network.Node().String()},
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": inside(etcFolder, "ca.crt")},
		},
		"authorization":               map[string]any{"mode": "Webhook"},
		"tlsPrivateKeyFile":           inside(etcFolder, "kubelet.key"),
		"containerRuntimeEndpoint":    "unix://" + containerdSocket,
		"podLogsDir":                  inside(podLogsFolder),
		"volumePluginDir":             "/run/volume-plugins",
		"resolvConf":                  "",
		"failCgroupV1":                false,
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + c.cgroup,
		"failSwapOn":                  false,
		"oomScoreAdj":                 0,
		"makeIPTablesUtilChains":      false,
		"imageGCHighThresholdPercent": 100,
		"evictionHard":                map[string]string{"imagefs.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%"},
	}
}

// proxy returns its configuration. Traffic to a service appears to come from the node. Pods are on the same bridge, and
// otherwise answer each other directly, bypassing the proxy.
func (c configuration) proxy() map[string]any {
	return map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"clusterCIDR":        c.network.Subnet(),
		"hostnameOverride":   Name,
		"clientConnection":   map[string]any{"kubeconfig": inside(etcFolder, "kube-proxy.kubeconfig")},
		"nftables":           map[string]any{"masqueradeAll": true},
		"conntrack":          map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
		"oomScoreAdj":        0,
		"healthzBindAddress": "127.0.0.1:10256",
		"metricsBindAddress": "127.0.0.1:10249",
	}
}

// containerdProcess starts before all others.
func containerdProcess() nodeinit.Process {
	return nodeinit.Process{Name: "containerd", Args: []string{"containerd", "--config", inside(etcFolder, "containerd.toml")}}
}

// processes returns the remaining processes, in order. The control plane runs the controllers that the controller manager omits.
func (c configuration) processes() []nodeinit.Process {
	kubeconfig := func(name string) string { return "--kubeconfig=" + inside(etcFolder, name+".kubeconfig") }
	return []nodeinit.Process{
		{Name: "kubelet", Args: []string{
			"", "kubelet", kubeconfig("kubelet"), "--config=" + inside(etcFolder, "kubelet.json"), "--root-dir=" + inside(kubeletFolder),
			"--hostname-override=" + Name, "--node-ip=" + c.network.Node().String(),
		}},
		{Name: "kube-controller-manager", Args: []string{
			"", "kube-controller-manager", kubeconfig("kube-controller-manager"), "--leader-elect=false", "--bind-address=127.0.0.1",
			"--root-ca-file=" + inside(etcFolder, "ca.crt"),
			"--service-account-private-key-file=" + inside(etcFolder, "service-account.key"),
			"--controllers=*,-garbage-collector-controller,-namespace-controller,-clusterrole-aggregation-controller," +
				"-serviceaccount-controller,-serviceaccount-token-controller",
			"--node-monitor-grace-period=4m", // A busy machine is not a lost node.
		}},
		{Name: "kube-scheduler", Args: []string{
			"", "kube-scheduler", kubeconfig("kube-scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1",
		}},
		{Name: "kube-proxy", Args: []string{"", "kube-proxy", "--config=" + inside(etcFolder, "kube-proxy.json")}},
		{Name: "dns", Args: []string{
			"", "dns", kubeconfig("kube-proxy"), "--listen=" + c.network.Node().String() + ":53", "--domain=" + domain,
		}},
	}
}
