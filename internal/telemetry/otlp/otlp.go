// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends traces of jobs to a collector, configured by the standard environment variables of OpenTelemetry. It is a separate
// package so that only programs that call it link the exporter.
package otlp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"espalier.dev/internal/telemetry"
	"espalier.dev/internal/version"
)

// Variables that say whether and where to send traces. The exporter supports many more.
const (
	disabledVariable       = "OTEL_SDK_DISABLED"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

const protocol = "http/protobuf"

// lastWords is how long a stopping process waits for spans that are not delivered yet.
const lastWords = 3 * time.Second

// Wanted reports whether the environment requests traces. An error names the invalid variable.
func Wanted(getenv func(string) string) (bool, error) {
	if strings.EqualFold(getenv(disabledVariable), "true") {
		return false, nil
	}
	switch exporter := getenv(exporterVariable); exporter {
	case "none":
		return false, nil
	case "":
		if getenv(endpointVariable) == "" && getenv(tracesEndpointVariable) == "" {
			return false, nil
		}
	case "otlp":
	default:
		return false, fmt.Errorf("%s is %q: set it to otlp or none", exporterVariable, exporter)
	}
	for _, variable := range []string{tracesProtocolVariable, protocolVariable} {
		if p := getenv(variable); p != "" {
			if p != protocol {
				return false, fmt.Errorf("%s is %q: only %s is supported, usually at port 4318 of a collector", variable, p, protocol)
			}
			break
		}
	}
	return true, nil
}

// Start sends the traces of this process if the environment requests it. stop delivers the rest, for a few seconds at most. Spans are sent
// in batches in the background. If they cannot be delivered, they are dropped, and the log says so.
func Start(ctx context.Context, service string, getenv func(string) string, log logr.Logger) (stop func(), err error) {
	wanted, err := Wanted(getenv)
	if err != nil || !wanted {
		return func() {}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	described, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", service), attribute.String("service.version", version.Get().Version),
	), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, fmt.Errorf("set up traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Info("Traces are not delivered", "cause", err.Error()) }))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithResource(described),
	)
	telemetry.UseTracer(provider.Tracer("espalier.dev/internal/telemetry"))
	log.Info("Sending traces of jobs")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = provider.Shutdown(ctx) // Undelivered spans are logged.
	}, nil
}
