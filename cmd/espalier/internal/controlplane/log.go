// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"espalier.dev/cmd/espalier/internal/controlplane/etcdlog"
)

const logFile = "control-plane.log"

// errGaveUp means that code wrote a fatal log line, which normally ends the process.
var errGaveUp = errors.New("kubernetes or etcd met a fatal error")

// logSink is the log of one control plane.
type logSink struct {
	mu    sync.Mutex
	w     io.Writer
	file  *os.File
	where string

	// fatal receives a value when Kubernetes or etcd tries to end the process.
	fatal chan struct{}
}

// openLog directs the logs to w, or to a file in dir if w is nil. The file of the previous run is kept beside it.
func openLog(w io.Writer, dir *dataDir) (*logSink, error) {
	s := &logSink{w: w, fatal: make(chan struct{}, 1)}
	if w == nil {
		name := dir.path(logFile)
		if err := os.Rename(name, name+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("rename the previous log: %w", err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		s.w, s.file = f, f
		if !dir.ephemeral {
			s.where = name
		}
	}
	kubernetesLog.attach(s)
	return s, nil
}

// Write never fails: otherwise, loggers report a full disk on the terminal.
func (s *logSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.w.Write(p)
	return len(p), nil
}

// close detaches the sink. Code that outlives its control plane logs nothing.
func (s *logSink) close() error {
	kubernetesLog.detach(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = io.Discard
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// explain adds the location of the log to an error.
func (s *logSink) explain(err error) error {
	if err == nil || s.where == "" {
		return err
	}
	return fmt.Errorf("%w (log: %s)", err, s.where)
}

func (s *logSink) noteFatal() {
	select {
	case s.fatal <- struct{}{}:
	default:
	}
}

// zapLogger returns a logger for etcd. A line that normally ends the process or panics calls gaveUp and ends only the goroutine that wrote
// it: a panic in one of etcd's own goroutines also ends the process.
func (s *logSink) zapLogger(gaveUp func(message string)) *zap.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	core := zapcore.NewCore(encoder, zapcore.AddSync(s), zap.WarnLevel)
	return zap.New(core, zap.WithFatalHook(fatalHook(gaveUp)), zap.WithPanicHook(fatalHook(gaveUp)))
}

type fatalHook func(message string)

func (gaveUp fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	message := entry.Message
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			message += ": " + err.Error()
		}
	}
	gaveUp(message)
	runtime.Goexit()
}

// kubernetesLog is the output of klog and of kube-apiserver's etcd clients, both of
// which are global to the process.
var kubernetesLog logRouter

// logRouter copies lines to all control planes.
type logRouter struct {
	install sync.Once
	mu      sync.Mutex
	sinks   map[*logSink]struct{}
}

// attach takes over klog permanently when it is first called: goroutines of a stopped API server may still log, or even give up, and klog
// cannot be switched safely while they run.
func (r *logRouter) attach(s *logSink) {
	r.install.Do(func() {
		klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(r))))
		etcdlog.To(r)
		klog.OsExit = func(int) {
			r.each((*logSink).noteFatal)
			runtime.Goexit()
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sinks == nil {
		r.sinks = map[*logSink]struct{}{}
	}
	r.sinks[s] = struct{}{}
}

func (r *logRouter) detach(s *logSink) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sinks, s)
}

func (r *logRouter) each(do func(*logSink)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.sinks {
		do(s)
	}
}

func (r *logRouter) Write(p []byte) (int, error) {
	r.each(func(s *logSink) { _, _ = s.Write(p) })
	return len(p), nil
}
