// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		want      bool
		problem   string
	}{
		"nothing":                {},
		"an endpoint":            {variables: map[string]string{endpointVariable: "http://a"}, want: true},
		"an endpoint of traces":  {variables: map[string]string{tracesEndpointVariable: "http://a"}, want: true},
		"the default endpoint":   {variables: map[string]string{exporterVariable: "otlp"}, want: true},
		"none":                   {variables: map[string]string{exporterVariable: "none", endpointVariable: "http://a"}},
		"disabled":               {variables: map[string]string{disabledVariable: "TRUE", endpointVariable: "http://a"}},
		"another exporter":       {variables: map[string]string{exporterVariable: "zipkin"}, problem: exporterVariable},
		"gRPC":                   {variables: map[string]string{exporterVariable: "otlp", protocolVariable: "grpc"}, problem: protocolVariable},
		"gRPC for traces":        {variables: map[string]string{endpointVariable: "a", tracesProtocolVariable: "grpc"}, problem: tracesProtocolVariable},
		"gRPC for others":        {variables: map[string]string{endpointVariable: "a", tracesProtocolVariable: protocol, protocolVariable: "grpc"}, want: true},
		"gRPC, but for nothing":  {variables: map[string]string{protocolVariable: "grpc"}},
		"a wrong one, but unset": {variables: map[string]string{exporterVariable: ""}},
	} {
		got, err := Wanted(func(variable string) string { return test.variables[variable] })
		if got != test.want || (err != nil) != (test.problem != "") {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v does not name %s", name, err, test.problem)
		}
	}
}
