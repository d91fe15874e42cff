// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/template"
)

// Functions that require a response of a cluster. Templates never contact a cluster: a call with an unknown answer ends the rendering with
// Unanswered, and the caller gets the answer and renders again with it. The same template with the same answers gives the same output.
const (
	FunctionShoot                 = "getShootAdminKubeconfig"
	FunctionShootWithExpiry       = "getShootAdminKubeconfigWithExpirationTimestamp"
	FunctionServiceAccount        = "getServiceAccountKubeconfig"
	FunctionServiceAccountAndTime = "getServiceAccountKubeconfigWithExpirationTimestamp"
	FunctionOIDC                  = "getOidcKubeconfig"
)

// ClusterCall is a call that requires a response of a cluster. Calls with the same arguments are the same call.
type ClusterCall struct {
	// Credential is the requested credential: FunctionShoot, FunctionServiceAccount or FunctionOIDC.
	Credential string `json:"credential"`
	// Target is the name of an imported Target. Its cluster answers the call.
	Target string `json:"target"`
	// Name and Namespace identify a shoot or a service account; Seconds is the validity of the credential.
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Seconds   int64  `json:"seconds,omitempty"`
	// Issuer and Client identify an identity provider.
	Issuer string `json:"issuer,omitempty"`
	Client string `json:"client,omitempty"`
}

// Answer is a kubeconfig issued by a cluster. It is a secret.
type Answer struct {
	Kubeconfig string    `json:"kubeconfig"`
	Expires    time.Time `json:"expires,omitzero"`
}

// Answers are the known answers.
type Answers map[ClusterCall]Answer

// Unanswered is the error of a rendering that needs an answer.
type Unanswered struct {
	Call ClusterCall
	// Target is the Target that Call names.
	Target *lsv1alpha1.Target
}

// Error names the function, which is not a secret.
func (u *Unanswered) Error() string {
	return fmt.Sprintf("the template calls %s, and the answer of the cluster is unknown", u.Call.Credential)
}

// clusterFunctions maps the functions to the credentials that they request.
var clusterFunctions = map[string]string{
	FunctionShoot: FunctionShoot, FunctionShootWithExpiry: FunctionShoot,
	FunctionServiceAccount: FunctionServiceAccount, FunctionServiceAccountAndTime: FunctionServiceAccount,
	FunctionOIDC: FunctionOIDC,
}

// AsksClusters reports whether a template of the blueprint may call such a function.
func (b *Blueprint) AsksClusters() bool {
	for _, x := range slices.Concat(b.imports, b.deployments, b.subinstallations, b.exports) {
		if slices.ContainsFunc(x.functions(), func(name string) bool { return clusterFunctions[name] != "" }) {
			return true
		}
	}
	return false
}

// addClusterFunctions adds the functions that call clusters of Targets that the installation imports.
func (e *execution) addClusterFunctions(imports *dataflow.Imports) {
	targets := map[string]*lsv1alpha1.Target{}
	for _, target := range imports.Targets() {
		targets[target.Name] = target.Target
	}
	for name, credential := range clusterFunctions {
		e.functions[name] = func(arguments ...any) (any, error) {
			if e.Answers == nil {
				return nil, template.Problemf("%s", elsewhere(name))
			}
			call, err := clusterCall(credential, arguments)
			if err != nil {
				return nil, err
			}
			if targets[call.Target] == nil {
				return nil, template.Problemf("the target is not one that the installation imports: pass an import unchanged, as in .imports.cluster")
			}
			answer, known := e.Answers[call]
			if !known {
				e.asked = &Unanswered{Call: call, Target: targets[call.Target]}
				return nil, template.Problemf("the answer of the cluster is still unknown")
			}
			return answer.value(name), nil
		}
	}
}

// elsewhere describes where a function is available.
func elsewhere(function string) string {
	return fmt.Sprintf("function %s calls the cluster of a Target, which only the controller does while it runs an installation: "+
		"its result cannot be shown here", function)
}

// value returns the result of a function.
func (a Answer) value(function string) any {
	kubeconfig := base64.StdEncoding.EncodeToString([]byte(a.Kubeconfig))
	if function != FunctionShootWithExpiry && function != FunctionServiceAccountAndTime {
		return kubeconfig
	}
	return map[string]any{
		"kubeconfig": kubeconfig, "expirationTimestamp": a.Expires.Unix(),
		"expirationTimestampReadable": a.Expires.UTC().Format(time.RFC3339),
	}
}

// clusterCall reads the arguments of a call. Errors name the argument, never its value.
func clusterCall(credential string, arguments []any) (ClusterCall, error) {
	names := []string{"the name", "the namespace", "the seconds", "the target"}
	if credential == FunctionOIDC {
		names = []string{"the URL of the issuer", "the client ID", "the target"}
	}
	if len(arguments) != len(names) {
		return ClusterCall{}, template.Problemf("it takes %d arguments, not %d", len(names), len(arguments))
	}
	read := argumentReader{names: names, arguments: arguments}
	call := ClusterCall{Credential: credential, Target: read.target(len(names) - 1)}
	if credential == FunctionOIDC {
		call.Issuer, call.Client = read.text(0), read.text(1)
		return call, read.err
	}
	call.Name, call.Namespace, call.Seconds = read.text(0), read.text(1), read.seconds(2)
	if read.err == nil && len(validation.IsDNS1123Subdomain(call.Name)) > 0 {
		read.refuse(0, "the name of an object")
	}
	if read.err == nil && len(validation.IsDNS1123Label(call.Namespace)) > 0 {
		read.refuse(1, "the name of a namespace")
	}
	return call, read.err
}

// argumentReader reads arguments until the first error.
type argumentReader struct {
	names     []string
	arguments []any
	err       error
}

func (r *argumentReader) refuse(index int, wanted string) {
	if r.err == nil {
		r.err = template.Problemf("argument %d, %s, must be %s; it is %s",
			index+1, r.names[index], wanted, template.TypeName(r.arguments[index]))
	}
}

func (r *argumentReader) text(index int) string {
	text, ok := r.arguments[index].(string)
	if !ok || text == "" {
		r.refuse(index, "a text that is not empty")
	}
	return text
}

// seconds reads a whole number, even one written as a float: imported numbers may be floats.
func (r *argumentReader) seconds(index int) int64 {
	var n int64
	switch value := r.arguments[index].(type) {
	case int:
		n = int64(value)
	case int64:
		n = value
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < math.MaxInt32 {
			n = int64(value)
		}
	}
	if n <= 0 {
		r.refuse(index, "a positive number of whole seconds")
	}
	return n
}

func (r *argumentReader) target(index int) string {
	object, _ := r.arguments[index].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		r.refuse(index, "a Target that the installation imports")
	}
	return name
}

// functions returns the names of the functions that a template may call.
func (x executor) functions() []string {
	if x.goTemplate != nil {
		return x.goTemplate.Functions()
	}
	return x.spiff.Functions()
}
