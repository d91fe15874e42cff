// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// variable describes environment variables.
type variable struct {
	names []string
	// by are the programs or commands that read them.
	by   []string
	text string
	// byLibrary is set if only libraries read them, so that the code does not name them.
	byLibrary bool
}

var variables = []variable{
	{
		names: []string{"KUBECONFIG"}, by: []string{"espalier"},
		text: "Kubeconfigs that say which cluster to use, as for kubectl; `--kubeconfig` takes precedence. Without either, a command uses the " +
			"control plane that `espalier up` last started.",
	},
	{
		names: []string{"HOME"}, by: []string{"espalier"},
		text: "Home directory, with `.kube/config`, `.docker/config.json`, and by default the data of `espalier up`.",
	},
	{
		names: []string{"XDG_DATA_HOME"}, by: []string{"espalier up", "espalier kubectl"},
		text: "Directory for data, an absolute path; `espalier up` keeps its data in the folder `espalier` of it. Default `~/.local/share`.",
	},
	{
		names: []string{"DOCKER_CONFIG"}, by: []string{"espalier"},
		text: "Directory whose `config.json` has the credentials for registries, as `docker login` writes it. Default `~/.docker`.",
	},
	{
		names: []string{"KUBECTL_EXTERNAL_DIFF"}, by: []string{"espalier diff"},
		text: "Program that shows the differences, with arguments, such as `colordiff -N -u`. It gets two directories.",
	},
	{names: []string{"NO_COLOR"}, by: []string{"espalier"}, text: "If it is not empty, output has no colours."},
	{
		names: []string{"CLICOLOR_FORCE"}, by: []string{"espalier"},
		text: "If it is neither empty nor `0`, output has colours even if it does not go to a terminal.",
	},
	{
		names: []string{"TERM"}, by: []string{"espalier"},
		text: "`dumb` is a terminal in which nothing can be redrawn and that has no colours.",
	},
	{
		names: []string{"TERM_PROGRAM", "COLORTERM", "CLICOLOR", "SSH_TTY", "TMUX", "STY", "WT_SESSION"}, by: []string{"espalier watch"},
		text: "What the terminal can do. Terminals set them.",
	},
	{
		names: []string{"ESPALIER_GITEA"}, by: []string{"espalier up"},
		text: "The program Gitea for the example `gitops`; `--gitea` takes precedence. Default: `gitea` on the `PATH`, or beside `espalier`.",
	},
	{
		names: []string{"ESPALIER_NODE_PROGRAMS"}, by: []string{"espalier up"},
		text: "Directory with the programs of the node, for `--node`. Default: that of `espalier`.",
	},
	{
		names: []string{"PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"}, by: []string{"espalier up"},
		text: "The environment of the Gitea that the example `gitops` starts. It gets no other variables.",
	},
	{
		names: []string{"GOGC", "GOMEMLIMIT"}, by: []string{"espalier", "espalier-controller"},
		text: "How much memory may be garbage, and how much there is ([Go](https://pkg.go.dev/runtime#hdr-Environment_Variables)). If neither is " +
			"set, `espalier up` uses `GOGC=50`.",
	},
	{
		names: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}, by: []string{"espalier up", "espalier-controller"},
		text: "Where to send [traces](../observability.md#traces), such as `http://collector:4318`. Without either, none are sent.",
	},
	{
		names: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"}, by: []string{"espalier up", "espalier-controller"},
		text: "Protocol for traces. Only `http/protobuf` is supported, which is the default.",
	},
	{
		names: []string{"OTEL_TRACES_EXPORTER"}, by: []string{"espalier up", "espalier-controller"},
		text: "`otlp` sends traces, to `localhost:4318` if no endpoint is set; `none` sends none.",
	},
	{
		names: []string{"OTEL_SDK_DISABLED"}, by: []string{"espalier up", "espalier-controller"},
		text: "`true` turns traces off.",
	},
	{
		names: []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_BSP_SCHEDULE_DELAY"},
		by:    []string{"espalier up", "espalier-controller"},
		text: "These and the other [variables of OpenTelemetry](https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/) " +
			"for exporters, resources and batches.",
		byLibrary: true,
	},
	{
		names: []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"}, by: []string{"espalier", "espalier-controller"},
		text: "Proxies for connections to the API server of the management cluster. Target clusters, registries and Git servers are " +
			"[connected to directly](../targets.md#blocked-addresses).",
		byLibrary: true,
	},
	{
		names: []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}, by: []string{"espalier", "espalier-controller"},
		text:      "Certificate authorities of the system, on Linux. Default: the usual places; if there are none, those of the program.",
		byLibrary: true,
	},
	{
		names: []string{"TMPDIR"}, by: []string{"espalier", "espalier-controller"},
		text:      "Directory for temporary files, and by default for the registry cache. Default `/tmp`.",
		byLibrary: true,
	},
}

// ownEnvironments are folders with code for processes whose variables other code of the product sets.
var ownEnvironments = []string{"internal/deployer/container/inside"}

// readers are the functions that read an environment variable, however they get to their callers.
var readers = []string{"Getenv", "LookupEnv", "getenv"}

// checkVariables compares the list of variables with those that the code reads.
func (p *program) checkVariables() error {
	read, problem := p.variablesRead()
	listed := map[string]bool{}
	for _, v := range variables {
		for _, name := range v.names {
			listed[name] = true
			if !v.byLibrary && read[name] == "" {
				problem = errors.Join(problem, fmt.Errorf("nothing reads the environment variable %s: remove it from internal/reference/variables.go", name))
			}
		}
	}
	for name, place := range read {
		if !listed[name] {
			problem = errors.Join(problem, fmt.Errorf("%s reads the environment variable %s: explain it in internal/reference/variables.go", place, name))
		}
	}
	return problem
}

// variablesRead returns the environment variables that the code reads, with a file that does so.
func (p *program) variablesRead() (read map[string]string, problem error) {
	read = map[string]string{}
	for i := range p.files {
		file := &p.files[i]
		if slices.Contains(ownEnvironments, file.folder) {
			continue
		}
		loops := loopsOver(file.syntax)
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || len(call.Args) != 1 || !slices.Contains(readers, lastName(call.Fun)) {
				return true
			}
			arguments := []ast.Expr{call.Args[0]}
			if name, isName := call.Args[0].(*ast.Ident); isName && loops[name.Name] != nil {
				arguments = loops[name.Name]
			}
			for _, argument := range arguments {
				name, known := p.fold(expression{argument, file})
				if !known {
					problem = errors.Join(problem, fmt.Errorf("%s reads an environment variable whose name is not a constant", file.path))
				} else {
					read[name] = strings.TrimPrefix(file.path, "./")
				}
			}
			return true
		})
	}
	return read, problem
}

// loopsOver returns the elements of the lists that a file loops over, by the name of the variable of the loop.
func loopsOver(syntax *ast.File) map[string][]ast.Expr {
	loops := map[string][]ast.Expr{}
	ast.Inspect(syntax, func(node ast.Node) bool {
		loop, isLoop := node.(*ast.RangeStmt)
		if !isLoop {
			return true
		}
		list, isList := loop.X.(*ast.CompositeLit)
		if name, isName := loop.Value.(*ast.Ident); isList && isName {
			loops[name.Name] = append(loops[name.Name], list.Elts...)
		}
		return true
	})
	return loops
}
