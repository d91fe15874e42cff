// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package etcdlog keeps the log of kube-apiserver's etcd clients off the terminal.
//
// Kubernetes creates that log in an init function and offers no way to change it later.
// But it uses a default that etcd exports, and Go initialises packages in the
// order of their import paths as far as their own imports allow. This package imports
// no more than the package in Kubernetes does and has the smaller path, so its init
// function comes first.
package etcdlog

import (
	"io"
	"net/url"
	"sync/atomic"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
)

const scheme = "espalier"

func init() {
	if err := zap.RegisterSink(scheme, func(*url.URL) (zap.Sink, error) { return sink{}, nil }); err != nil {
		return // The lines then stay on the terminal, which is harmless.
	}
	logutil.DefaultZapLoggerConfig.OutputPaths = []string{scheme + ":etcd-client"}
}

var target atomic.Pointer[io.Writer]

// To directs the lines to w. Until it is called, they are dropped.
func To(w io.Writer) { target.Store(&w) }

type sink struct{}

func (sink) Write(p []byte) (int, error) {
	if w := target.Load(); w != nil {
		return (*w).Write(p)
	}
	return len(p), nil
}

func (sink) Sync() error  { return nil }
func (sink) Close() error { return nil }
