// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
)

// given is a kubeconfig that a user has given, read as leniently as kubectl does, in order to say what to do about it. What goes into a
// Target is read by strict rules elsewhere.
type given struct {
	config   *clientcmdapi.Config // nil if it cannot be read
	context  string               // the one that is meant
	named    bool                 // by the user
	contexts []string
}

func newGiven(raw []byte, context string) given {
	g := given{context: context, named: context != ""}
	config, err := clientcmd.Load(raw)
	if err != nil {
		return g // Whoever reads it strictly says what is wrong with it, without a value.
	}
	g.config = config
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		g.contexts = append(g.contexts, display.Clean(name))
	}
	if !g.named {
		g.context = config.CurrentContext
	}
	return g
}

// problem says what is wrong with the choice of the context; nothing if it is a good one.
func (g given) problem() string {
	if g.config == nil || len(g.contexts) == 0 || g.config.Contexts[g.context] != nil {
		return ""
	}
	if g.context == "" {
		return "the kubeconfig has no current context"
	}
	return fmt.Sprintf("the kubeconfig has no context %q", g.context)
}

// advice says how to get a kubeconfig that a Target can have. The command reads one from standard input.
func (g given) advice(command string) []string {
	general := []string{"see which keys a kubeconfig may have: docs/targets.md"}
	if g.config == nil || g.config.Contexts[g.context] == nil {
		return general
	}
	current := g.config.Contexts[g.context]
	user, cluster := g.config.AuthInfos[current.AuthInfo], g.config.Clusters[current.Cluster]
	switch {
	case user == nil || cluster == nil:
	case user.Exec != nil || user.AuthProvider != nil:
		return []string{
			"create a service account in the target cluster, and a kubeconfig with a token of it",
			"kubectl --context " + connect.Quote(g.context) + " create token ACCOUNT --duration 8760h",
		}
	case user.TokenFile != "":
		return []string{"put the content of the file into token, in the place of tokenFile"}
	case user.ClientCertificate+user.ClientKey+cluster.CertificateAuthority != "":
		return []string{"kubectl config view --raw --minify --flatten --context " + connect.Quote(g.context) + " | " + command}
	}
	return general
}
