// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"io"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Log formats.
const (
	LogJSON    = "json"
	LogConsole = "console"
)

const (
	// maxVerbosity is the highest V-level in use.
	maxVerbosity = 10
	// maxLogged is the highest effective one: above it, the client library logs the bodies of requests and answers, including those of
	// Secrets.
	maxLogged = 7
)

// LogOptions configure the log of a process.
type LogOptions struct {
	Format string
	// Level is error, info, debug, or a verbosity from 0 (info) to 10.
	Level string
}

// DefaultLogOptions are for machine-readable logs.
func DefaultLogOptions() LogOptions { return LogOptions{Format: LogJSON, Level: "info"} }

// AddFlags binds the options to flags, with their current values as defaults.
func (o *LogOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Format, "log-format", o.Format, "format of the log: json or console")
	flags.StringVar(
		&o.Level,
		"log-level",
		o.Level,
		"what to log: error, info, debug, or a verbosity from 0 (info) to 10;\nrequest and response bodies are never logged, so 7 and above add nothing",
	)
}

// NewLogger returns a logger that writes to w.
func NewLogger(w io.Writer, opts LogOptions) (logr.Logger, error) {
	level, err := parseLevel(opts.Level)
	if err != nil {
		return logr.Discard(), err
	}
	encoder, err := encoderFor(opts.Format)
	if err != nil {
		return logr.Discard(), err
	}
	// A stack shows where an error was logged, not where it occurred, so each event stays one line.
	return zap.New(
		zap.WriteTo(w),
		zap.Level(level),
		encoder,
		zap.StacktraceLevel(zapcore.PanicLevel),
		zap.RawZapOpts(uberzap.WrapCore(lowerRetries)),
	), nil
}

// reconcilerError is the message of controller-runtime for every pass that ends with an error.
const reconcilerError = "Reconciler error"

// retries turns the errors that controller-runtime retries into warnings: the status, an event and a separate line report permanent
// failures.
type retries struct{ zapcore.Core }

func lowerRetries(core zapcore.Core) zapcore.Core { return retries{core} }

func (r retries) With(fields []zapcore.Field) zapcore.Core { return retries{r.Core.With(fields)} }

func (r retries) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Level == zapcore.ErrorLevel && entry.Message == reconcilerError {
		entry.Level, entry.Message = zapcore.WarnLevel, "Not done yet; retrying"
	}
	return r.Core.Check(entry, checked)
}

// UseLogger sets the logger of controller-runtime and of Kubernetes' client
// library in this process.
func UseLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
}

func encoderFor(format string) (zap.Opts, error) {
	timed := func(c *zapcore.EncoderConfig) {
		c.TimeKey = "time"
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	}
	switch format {
	case LogJSON:
		return zap.JSONEncoder(timed), nil
	case LogConsole:
		return zap.ConsoleEncoder(timed), nil
	default:
		return nil, fmt.Errorf("--log-format is %q: it must be json or console", format)
	}
}

// parseLevel returns a zap level: higher verbosity is a smaller number.
func parseLevel(level string) (zapcore.Level, error) {
	switch level {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	verbosity, err := strconv.Atoi(level)
	if err != nil || verbosity < 0 || verbosity > maxVerbosity {
		return 0, fmt.Errorf("--log-level is %q: it must be error, info, debug, or a number from 0 to %d", level, maxVerbosity)
	}
	return zapcore.Level(-min(verbosity, maxLogged)), nil
}
