// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Command file-deployer is an example of a deployer: it writes the files that deploy items of type
// example.espalier.dev/files describe into one folder, and takes care of changes and deletions.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"espalier.dev/api"
	"espalier.dev/deployer"
)

func main() {
	folder := flag.String("root", "", "folder to write files to")
	flag.Parse()
	ctrl.SetLogger(klog.Background()) // The library, controller-runtime and client-go log to standard error.
	if err := run(ctrl.SetupSignalHandler(), *folder); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	defer root.Close()
	connection, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubernetes.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(connection, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := deployer.Setup(mgr, &fileDeployer{root: root}, deployer.Options{Name: "file-deployer", Version: "v1", Workers: 4}); err != nil {
		return err
	}
	fmt.Println("file-deployer is running; Ctrl-C stops it")
	return mgr.Start(ctx)
}
