// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

func newSink(t *testing.T) (*logSink, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	sink, err := openLog(&out, &dataDir{root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sink.close(); err != nil {
			t.Error(err)
		}
	})
	return sink, &out
}

func TestKubernetesLogsToAllControlPlanes(t *testing.T) {
	_, first := newSink(t)
	second, secondOut := newSink(t)
	klog.Info("for both")
	if err := second.close(); err != nil {
		t.Fatal(err)
	}
	klog.Info("for the first")
	if got := first.String(); !strings.Contains(got, "for both") || !strings.Contains(got, "for the first") {
		t.Errorf("the first log is %q", got)
	}
	if got := secondOut.String(); !strings.Contains(got, "for both") || strings.Contains(got, "for the first") {
		t.Errorf("the second log is %q", got)
	}
	if n, err := second.Write([]byte("late")); n != 4 || err != nil || strings.Contains(secondOut.String(), "late") {
		t.Errorf("a line after the end: %d, %v, %q", n, err, secondOut.String())
	}
}

func TestAFatalErrorEndsOnlyItsGoroutine(t *testing.T) {
	sink, out := newSink(t)
	err := attempting(t, func() error {
		klog.Fatal("the end is near")
		return nil
	})
	if !errors.Is(err, errGaveUp) {
		t.Errorf("error: %v", err)
	}
	select {
	case <-sink.fatal:
	default:
		t.Error("the control plane has not been told")
	}
	if !strings.Contains(out.String(), "the end is near") {
		t.Errorf("the log is %q", out.String())
	}
}

func TestAFatalErrorOfEtcdSaysWhy(t *testing.T) {
	sink, out := newSink(t)
	var why string
	log := sink.zapLogger(func(message string) { why = message })
	err := attempting(t, func() error {
		log.Fatal("failed to commit", zap.Error(errors.New("disk full")), zap.String("path", "/db"))
		return nil
	})
	if !errors.Is(err, errGaveUp) || why != "failed to commit: disk full" {
		t.Errorf("error %v, reason %q", err, why)
	}
	err = attempting(t, func() error {
		log.Panic("failed to open database", zap.Error(errors.New("invalid")))
		return nil
	})
	if !errors.Is(err, errGaveUp) || why != "failed to open database: invalid" {
		t.Errorf("of a panic: error %v, reason %q", err, why)
	}
	if !strings.Contains(out.String(), "disk full") {
		t.Errorf("the log is %q", out.String())
	}
}

func TestLogFile(t *testing.T) {
	dir := &dataDir{root: t.TempDir()}
	for _, line := range []string{"first run", "second run", "third run"} {
		sink, err := openLog(nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		klog.Info(line)
		if got := sink.explain(errors.New("boom")).Error(); got != "boom (log: "+dir.path(logFile)+")" {
			t.Errorf("an error is explained as %q", got)
		}
		if err := sink.explain(nil); err != nil {
			t.Errorf("no error is explained as %v", err)
		}
		if err := sink.close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{logFile: "third run", logFile + ".1": "second run"} {
		raw, err := os.ReadFile(dir.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), want) || strings.Count(string(raw), " run") != 1 {
			t.Errorf("%s is %q", name, raw)
		}
	}
	checkPrivate(t, dir.path(logFile))
}

func TestTheLogOfAnEphemeralControlPlaneIsNotReferredTo(t *testing.T) {
	sink, err := openLog(nil, &dataDir{root: t.TempDir(), ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := sink.explain(errors.New("boom")).Error(); got != "boom" {
		t.Errorf("an error is explained as %q", got)
	}
	if err := sink.close(); err != nil {
		t.Error(err)
	}
}
