// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/forecast"
	"espalier.dev/internal/masking"
)

// Templates write names, which no API server has checked if it does not know the kind.
func TestNamesDoNotSteerTheTerminal(t *testing.T) {
	const evil = "oak\x1b[2J\x1b]0;title\x07\r\n+++ live"
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Tree", "metadata": map[string]any{"name": evil},
	}}
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	env := cli.NewEnvironment(streams)
	env.Getenv = func(string) string { return "" }
	o := newOutput(env, display.FormatText)
	o.change(forecast.Change{Subject: cluster.SubjectOf(nil, object), After: object, Unchecked: "unknown"},
		place{item: "shop/" + evil, target: "prod", secrets: &masking.Values{}})
	const name = "oak]0;title+++ live"
	want := "diff Tree " + name + " (created, Target prod, deploy item shop/" + name + ")\n" +
		"--- live/prod/example.org.v1.Tree." + name + "\n+++ next/prod/example.org.v1.Tree." + name + "\n@@ "
	if !strings.HasPrefix(out.String(), want) || strings.ContainsAny(out.String()+errOut.String(), "\x1b\x07\r") {
		t.Errorf("%q%q, want %q", errOut, out, want)
	}
}
